package sandbox

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"divisi/internal/sandbox/stage"
)

// Keeper is a process of Divisi's own that holds what all commands of one attempt share: the views of layers, stores and build
// caches, each mounted once, so that a command finds what one before it has written there; and, where it was asked for, a network
// of their own.
// It starts the stages of the commands whose Place names it; no command runs in it. It ends with this process.
type Keeper struct {
	loopback bool
	scratch  string
	// held are its views: where each is seen, as a part of a root.
	held []stage.Mount
	// built is the result of Built.
	built string

	mu      sync.Mutex
	process *os.Process
	control *net.UnixConn
	said    *bufio.Reader
	// lost is why it starts no more commands.
	lost error
}

// KeeperConfig holds the resources of a keeper.
type KeeperConfig struct {
	// Place names the layers and stores; the directories of both are only read.
	Place Place
	// Builds are the layers of a build cache, the first on top; none for no view of one. The last is the cache itself, and
	// commands see all of them at its path. They are only read. Commands that keep the tree cannot write the view either.
	Builds []string
	// Scratch is an existing, empty directory outside the tree for what commands write over all these. The caller removes it
	// after Close.
	Scratch string
	// Loopback has all commands meet on one loopback. None of them can have the network.
	Loopback bool
}

// ErrKeeper reports that the keeper of a command has ended before its time. What it held is lost, whatever the command does.
var ErrKeeper = errors.New("the keeper of its layers has ended")

// answerTime bounds how long a keeper takes to answer.
const answerTime = time.Minute

// StartKeeper starts a keeper. Where there are no namespaces or views there is none: see Views. ctx bounds the starting alone.
func StartKeeper(ctx context.Context, c KeeperConfig) (*Keeper, error) {
	return usable().keeper(ctx, c)
}

// Views returns nil where a keeper can make views of layers, else why not: then layers are copied into trees. The first call
// tries it out.
func Views() error { return views() }

var views = sync.OnceValue(func() error { return usable().tryViews() })

func (l Level) tryViews() error {
	switch {
	case !l.have(Namespaces):
		return errors.New("commands have no namespaces")
	case l.viewless != nil:
		return l.viewless
	}
	dir, err := makeTryDir()
	if err != nil {
		return err
	}
	defer clearTry(dir)
	p := Place{Tree: filepath.Join(dir, "tree"), Layers: []Layer{{Path: "layer", Lower: filepath.Join(dir, "lower")}}}
	scratch := filepath.Join(dir, "scratch")
	for _, d := range []string{p.Tree, filepath.Join(p.Tree, "layer"), p.Layers[0].Lower, scratch} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	if p.Keeper, err = l.keeper(context.Background(), KeeperConfig{Place: p, Scratch: scratch}); err != nil {
		return err
	}
	_, err = perform(l, Command{Dir: p.Tree, Place: p}, &stage.Trial{Write: filepath.Join(dir, "written"), Read: dir})
	return errors.Join(err, p.Keeper.Close())
}

func (l Level) keeper(ctx context.Context, c KeeperConfig) (*Keeper, error) {
	k := &Keeper{loopback: c.Loopback, scratch: c.Scratch}
	for _, layer := range c.Place.Layers {
		if !layer.ReadOnly {
			k.hold(stage.Mount{To: seenTree, Below: layer.Path}, layer.Lower)
		}
	}
	if c.Place.Stores != "" && !c.Place.Fill {
		k.hold(stage.Mount{To: seenStores, Write: true}, c.Place.Stores)
	}
	if n := len(c.Builds); n > 0 {
		k.built = filepath.Join(c.Scratch, strconv.Itoa(len(k.held)), stage.Upper)
		k.hold(stage.Mount{To: c.Builds[n-1]}, c.Builds...)
	}
	hold := &stage.Hold{Loopback: c.Loopback}
	for i, m := range k.held {
		for _, layer := range m.Layers {
			if _, err := os.Stat(layer.From); err != nil {
				return nil, fmt.Errorf("start a keeper: look for a layer: %w", err)
			}
		}
		over := filepath.Join(c.Scratch, strconv.Itoa(i))
		for _, name := range []string{stage.Upper, stage.Work} {
			if err := os.MkdirAll(filepath.Join(over, name), 0o700); err != nil {
				return nil, fmt.Errorf("start a keeper: %w", err)
			}
		}
		hold.Mounts = append(hold.Mounts, stage.Mount{
			From: over, To: filepath.Join(m.To, m.Below), Write: true, Layers: m.Layers,
		})
	}
	if err := k.begin(ctx, l, hold); err != nil {
		return nil, fmt.Errorf("start a keeper: %w", err)
	}
	return k, nil
}

// hold adds a view of some directories, the first on top.
func (k *Keeper) hold(view stage.Mount, dirs ...string) {
	for _, dir := range dirs {
		view.Layers = append(view.Layers, stage.Mount{From: dir})
	}
	k.held = append(k.held, view)
}

// holds reports whether commands see a view in the place of a directory of the machine.
func (k *Keeper) holds(dir string) bool {
	return k != nil && slices.ContainsFunc(k.held, func(m stage.Mount) bool { return m.To == dir })
}

func (k *Keeper) begin(ctx context.Context, l Level, hold *stage.Hold) (err error) {
	var trees []*os.File
	defer func() { closeAll(trees) }()
	if l.ownUser() {
		if hold.Mounts, trees, err = openTrees(hold.Mounts); err != nil {
			return err
		}
	}
	text, err := inMemory(&stage.Config{Hold: hold})
	if err != nil {
		return err
	}
	defer text.Close() // the keeper has its own copy
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer ours.Close()   // the connection has its own copy
	defer theirs.Close() // the keeper has its own copy
	conn, err := net.FileConn(ours)
	if err != nil {
		return err
	}
	k.control, _ = conn.(*net.UnixConn)
	k.said = bufio.NewReader(k.control)
	attr := attributes(l)
	// Its commands have their own, and it is their sibling.
	attr.Cloneflags &^= unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !hold.Loopback {
		attr.Cloneflags &^= unix.CLONE_NEWNET
	}
	if k.process, err = startStage(attr, append([]*os.File{nil, nil, nil, text, theirs}, trees...)); err != nil {
		return errors.Join(err, k.control.Close())
	}
	_ = theirs.Close() // else its end would not be heard
	stop := context.AfterFunc(ctx, func() { _ = k.process.Kill() })
	defer stop()
	if _, err := k.hear(); err != nil {
		return errors.Join(context.Cause(ctx), err, k.Close())
	}
	return nil
}

// hear reads an answer.
func (k *Keeper) hear() (process int, err error) {
	var s stage.Started
	err = k.control.SetReadDeadline(time.Now().Add(answerTime))
	if err == nil {
		err = gob.NewDecoder(k.said).Decode(&s)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrKeeper, err)
	case s.Error != "":
		return 0, &layerError{s.Layer, errors.New(s.Error)}
	}
	return s.Process, nil
}

// start has a stage started with the given descriptors.
func (k *Keeper) start(files []*os.File) (*os.Process, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost != nil {
		return nil, k.lost
	}
	_, _, err := k.control.WriteMsgUnix([]byte{0}, unix.UnixRights(numbers(files)...), nil)
	if err != nil {
		k.lost = fmt.Errorf("%w: %w", ErrKeeper, err)
		return nil, k.lost
	}
	pid, err := k.hear()
	if errors.Is(err, ErrKeeper) {
		k.lost = err
	}
	if err != nil {
		return nil, err
	}
	return os.FindProcess(pid)
}

// numbers are the descriptors of some files.
func numbers(files []*os.File) []int {
	fds := make([]int, 0, len(files))
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	return fds
}

// views are the parts of a root that a command gets from the keeper, from a descriptor on.
func (k *Keeper) views(p Place, fd int) []stage.Mount {
	views := slices.Clone(k.held)
	for i := range views {
		views[i].Layers, views[i].FD = nil, fd+i
		if views[i].To != seenStores {
			views[i].Write = !p.KeepTree
		}
	}
	return views
}

// Written are the layers that commands can write, each with what they have written over it as its Lower: files that they have
// made or changed, and the marks of removed ones. It may be read, and not changed. nil has none.
func (k *Keeper) Written() (layers []Layer) {
	if k == nil {
		return nil
	}
	for i, m := range k.held {
		if m.To == seenTree {
			layers = append(layers, Layer{Path: m.Below, Lower: filepath.Join(k.scratch, strconv.Itoa(i), stage.Upper)})
		}
	}
	return layers
}

// Built is the directory of what commands have written over the build cache: after Close a layer for other keepers. Without a
// view of a build cache it is empty.
func (k *Keeper) Built() string {
	if k == nil {
		return ""
	}
	return k.built
}

// Close ends the keeper, when its commands have ended, and with it what they have shared. It may be called often.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(k.lost, os.ErrClosed) {
		return nil
	}
	k.lost = fmt.Errorf("%w: %w", ErrKeeper, os.ErrClosed)
	err := k.control.Close()
	_, waited := k.process.Wait()
	openClosed(k.scratch)
	return errors.Join(err, waited)
}
