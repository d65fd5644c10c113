//go:build !linux

package grade

const opening, knowing = 0, 0

// watch needs inotify: elsewhere it is not known what a gate opens.
type watch struct{ names []string }

func newWatch(_ string, names []string, _ uint32) *watch { return &watch{names} }

func (w *watch) end() opened {
	o := opened{paths: map[string]bool{}, lack: map[string]string{}}
	for _, name := range w.names {
		o.lack[name] = "opened files are known on Linux only"
	}
	return o
}
