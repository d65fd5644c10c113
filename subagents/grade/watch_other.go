//go:build !linux

package grade

// watch needs inotify: elsewhere it is not known what a gate opens.
type watch struct{ files []File }

func newWatch(_ string, files []File, _ map[string]stamp) *watch { return &watch{files} }

func (w *watch) end() opened {
	o := opened{paths: map[string]bool{}, lack: map[string]string{}}
	for _, f := range w.files {
		o.lack[f.Path] = "opened files are known on Linux only"
	}
	return o
}
