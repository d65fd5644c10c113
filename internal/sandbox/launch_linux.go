package sandbox

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"divisi/internal/sandbox/stage"
)

// The bounds that every command has beside time, output and memory.
const (
	maxFileSize  = 32 << 30
	maxOpenFiles = 1 << 16
	maxTemp      = 1 << 30
	lookAtMemory = 200 * time.Millisecond
)

// process is a stage and the command in it.
type process struct {
	stage   *os.Process
	control *os.File
	// state is how the stage ended, once it was waited for.
	state *os.ProcessState
	// began is closed when the command runs, or will not. over is closed when the stage has reported or ended; report is what it
	// said, nil for nothing.
	began, over chan struct{}
	// lived says, once began is closed, that the command ran.
	lived   bool
	report  *stage.Report
	command Command
	// marked is the value of JobVar in the environment of its processes, where they have it.
	marked string
	// way is its proxy connection to the network; nil where it has none of its own.
	way *way
	// box is the control group that it runs in; nil where there is none.
	box *box
	// scratch is the part that views keep of it; empty for nothing.
	scratch string
}

// startProcess starts a command.
func startProcess(l Level, c Command, std streams) (*process, error) {
	if l.untried != nil {
		return nil, l.untried
	}
	return launch(l, c, nil, std)
}

// perform runs a trial at a level.
func perform(l Level, c Command, trial *stage.Trial) (*stage.Report, error) {
	p, err := launch(l, c.withDefaults(), trial, streams{})
	if err != nil {
		return nil, err
	}
	<-p.over
	_ = p.collect() // the result reports how it ended
	p.box.close()
	return p.result()
}

// result is the outcome of an ended trial. If the stage reports nothing (no thread, no memory), that shows nothing of the machine
// either, unless a filter that the machine has put on it was what ended it.
func (p *process) result() (*stage.Report, error) {
	switch r := p.report; {
	case r == nil:
		if status, ok := p.state.Sys().(syscall.WaitStatus); ok && status.Signal() == unix.SIGSYS {
			return nil, errors.New("a filter of system calls of this machine ended the try-out")
		}
		return nil, &UntriedError{fmt.Errorf("it ended (%v) before it could report: out of processes or memory",
			p.state)}
	case r.Error != "":
		return nil, &layerError{r.Layer, errors.New(r.Error)}
	}
	return p.report, nil
}

// launch starts a stage. Only what the stage could not even begin with is an error here.
func launch(l Level, c Command, trial *stage.Trial, std streams) (_ *process, err error) {
	id := rand.Text()
	config, trees, err := compose(l, c, id)
	defer closeAll(trees)
	if err != nil {
		return nil, err
	}
	config.Trial = trial
	group, err := newBox(id, &config.Limits)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			group.close()
		}
	}()
	text, err := inMemory(config)
	if err != nil {
		return nil, err
	}
	defer text.Close() // the stage has its own copy
	var out *way
	if c.Network && l.have(Namespaces) {
		if out, err = newWay(&c); err != nil {
			return nil, err
		}
		defer out.theirs.Close() // the stage has its own copy
		trees = append(trees, out.theirs)
	}
	p := &process{way: out, began: make(chan struct{}), over: make(chan struct{}), command: c, box: group}
	if !l.have(Namespaces) {
		p.marked = id
	}
	if dir := c.Place.Downloads.Scratch; dir != "" {
		p.scratch = filepath.Join(dir, id)
	}
	if err = p.begin(l, std, text, trees); err != nil {
		if out != nil {
			err = errors.Join(err, out.ours.Close())
		}
		return nil, fmt.Errorf("start its stage: %w", err)
	}
	go p.hear()
	if c.More && c.Place.Ahead != nil && l.have(Namespaces) {
		c.Place.Ahead.follow(l, c.Place.Keeper, p.began)
	}
	if out != nil {
		go out.serve(p)
	}
	return p, nil
}

// begin starts the stage: one that was started ahead, or a new one.
func (p *process) begin(l Level, std streams, text *os.File, rest []*os.File) error {
	k := p.command.Place.Keeper
	if w := p.command.Place.Ahead.take(k); w != nil {
		err := p.adopt(w, std, text, rest)
		if err == nil {
			return nil
		}
		_ = w.end() // something has killed it while it waited, or it cannot take so much: another one is started
	}
	if k != nil && p.box != nil { // a keeper cannot start it in its group
		w, err := startWaiting(l, k)
		if err == nil {
			if err = p.adopt(w, std, text, rest); err != nil {
				err = errors.Join(err, w.end())
			}
		}
		return err
	}
	var err error
	p.control, p.stage, err = startControlled(l, k, p.box, std, text, rest)
	return err
}

// adopt has a stage that waits carry the command out.
func (p *process) adopt(w *waiting, std streams, text *os.File, rest []*os.File) error {
	if p.box != nil {
		if err := p.box.add(w.stage.Pid); err != nil {
			return err
		}
	}
	given, closeNone, err := std.files()
	if err != nil {
		return err
	}
	defer closeNone()
	if err := w.hand(append(append(given, text), rest...)); err != nil {
		return fmt.Errorf("hand over a command: %w", err)
	}
	p.stage, p.control = w.stage, w.control
	return nil
}

// files are the three streams. closeNone closes what stands for nothing.
func (s streams) files() (all []*os.File, closeNone func(), err error) {
	none, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	return []*os.File{cmp.Or(s.in, none), cmp.Or(s.out, none), cmp.Or(s.err, none)}, func() { _ = none.Close() }, nil
}

// startControlled starts a stage with a control socket, itself or by a keeper: config and descriptors are those that the stage
// begins with.
func startControlled(l Level, k *Keeper, b *box, std streams, config *os.File, rest []*os.File) (
	control *os.File, started *os.Process, err error,
) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close() // the stage has its own copy
	files, closeNone, err := std.files()
	if err == nil {
		defer closeNone()
		files = append(append(files, config, theirs), rest...)
		if k != nil {
			started, err = k.start(files)
		} else {
			attr := attributes(l)
			b.enterWith(attr)
			started, err = startStage(attr, files)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, ours.Close())
	}
	return ours, started, nil
}

// startStage starts this program under another name. It is told what to do by what it is given.
func startStage(attr *syscall.SysProcAttr, files []*os.File) (*os.Process, error) {
	return os.StartProcess("/proc/self/exe", []string{stage.Marker}, &os.ProcAttr{
		Dir: "/", Env: stage.Environ(), Files: files, Sys: attr,
	})
}

// attributes are the namespaces and the user of a stage that this process starts.
func attributes(l Level) *syscall.SysProcAttr {
	if !l.have(Namespaces) {
		return &syscall.SysProcAttr{Setsid: true}
	}
	if !l.ownUser() {
		return stage.Attributes(os.Getuid(), os.Getgid())
	}
	attr := stage.Attributes(ownID, ownID)
	attr.Credential = &syscall.Credential{Uid: stage.UserID, Gid: stage.UserID}
	attr.GidMappingsEnableSetgroups = true
	return attr
}

func socketPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the control socket: %w", err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, nil, fmt.Errorf("make the control socket: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control"), nil
}

// hear reads what the stage says: that the command began, then how it ended, or at once why it could not begin. The socket ends
// with the stage. A caller that waits for the beginning finds the end already set where there was no beginning.
func (p *process) hear() {
	said := bufio.NewReader(p.control) // the one buffer of all decoders: each report describes itself again
	began := p.hearOne(said)
	if began {
		p.lived = true
		close(p.began)
		p.hearOne(said)
	}
	close(p.over)
	if !began {
		close(p.began)
	}
}

// hearOne returns true for a report that the command began. It keeps any other; a stage that was killed says nothing.
func (p *process) hearOne(said *bufio.Reader) bool {
	var r stage.Report
	if err := gob.NewDecoder(said).Decode(&r); err != nil {
		return false
	}
	if !r.Began {
		p.report = &r
	}
	return r.Began
}

// begun waits until the command runs. The error is for one that could not be started.
func (p *process) begun() error {
	<-p.began
	if p.lived {
		return nil
	}
	if err := p.fault(); err != nil {
		return err
	}
	return errors.New("its stage ended before the command began")
}

// fault is why the command could not be started, if so.
func (p *process) fault() error {
	switch r := p.report; {
	case r == nil:
		return nil
	case r.Missing:
		return p.command.missing()
	case r.Error != "":
		return errors.New(strings.TrimSpace(r.Layer + " " + r.Error))
	}
	return nil
}

// ended is closed when the command has ended.
func (p *process) ended() <-chan struct{} { return p.over }

func (p *process) terminate() { p.order(stage.Terminate) }

// kill ends everything. A stage that cannot obey is killed itself.
func (p *process) kill() {
	p.order(stage.Kill)
	late := time.NewTimer(stage.CollectTime + drainWait)
	defer late.Stop()
	select {
	case <-p.over:
	case <-late.C:
		_ = p.stage.Kill() // it may have ended in this moment
	}
}

// order fails when the stage has ended: then no process is left that could obey.
func (p *process) order(b byte) { _, _ = p.control.Write([]byte{b}) }

// collect waits for the stage's end and closes what led to it.
func (p *process) collect() (err error) {
	p.state, err = p.stage.Wait()
	_ = p.control.Close() // everything was heard
	return err
}

// wait collects the stage, and with it everything in its namespaces, and says how the command ended. The error is for a command
// that could not be started.
func (p *process) wait(out *Output) error {
	<-p.over
	err := p.collect()
	if p.marked != "" {
		killMarked(JobVar + "=" + p.marked)
	}
	if p.scratch != "" && !out.Cancelled { // else it goes with the directory that it is in
		removeViews(p.scratch)
	}
	out.OutOfMemory = p.box.outOfMemory()
	p.box.close()
	var closed error
	if p.way != nil {
		closed = p.way.close(out)
	}
	if r := p.report; r != nil {
		out.ExitCode, out.Signal = r.Exit, r.Signal
		out.OutOfMemory = out.OutOfMemory || r.Memory
		return cmp.Or(p.fault(), closed)
	}
	out.ExitCode, out.Signal = -1, fmt.Sprintf("unknown: %v", err)
	if status, ok := p.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		out.Signal = status.Signal().String()
	}
	return closed
}

// removeViews removes what a command wrote into its views. What cannot be removed goes with the directory that it is in.
func removeViews(dir string) {
	openClosed(dir)
	_ = os.RemoveAll(dir)
}

// openClosed lets the directories be removed that the kernel has made for views, and closed.
func openClosed(dir string) {
	works, _ := filepath.Glob(filepath.Join(dir, "*", stage.Work)) // the pattern is well-formed
	for _, work := range works {
		_ = filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // a directory
			}
			return nil // what cannot be opened stays
		})
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // path handles
	}
}
