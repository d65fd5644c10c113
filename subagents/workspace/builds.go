package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/internal/gocache"
	"divisi/internal/sandbox"
)

// maxLayers is how many layers lie over the cache of the gates before they are merged.
const maxLayers = 16

// Builds are the layers over the cache of the gates: what green tries of batches have written there. A layer of a commit lies
// below the gates of what is built on that commit, and of nothing else: what a patch has written that was refused is in none.
type Builds struct {
	dir   string
	clock func() time.Time
	log   zerolog.Logger

	mu    sync.Mutex
	count int
	// commits are the tested ones, begun the layers that the first try of each commit has begun with: so does the next.
	commits map[string]*built
	begun   map[[2]string][]string
	renewed time.Time
}

// built is a commit that was tested: what it is built on, and the layer that a green try has left; empty for none.
type built struct{ on, layer string }

// NewBuilds keeps layers in a directory, until the worker ends.
func NewBuilds(dir string, clock func() time.Time, log zerolog.Logger) *Builds {
	return &Builds{dir: dir, clock: clock, log: log, commits: map[string]*built{}, begun: map[[2]string][]string{}}
}

// Below returns what lies below the gates of a commit that is built on another one, or is that: the first on top, the cache last.
func (b *Builds) Below(commit, on, cache string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.commits[commit] == nil && commit != on {
		b.commits[commit] = &built{on: on}
	}
	key := [2]string{commit, on}
	layers, ok := b.begun[key]
	if !ok {
		layers = append(b.layers(on, cache), cache)
		b.begun[key] = layers
	}
	if now := b.clock(); now.Sub(b.renewed) >= gocache.Fresh {
		b.renewed = now
		for _, layer := range layers {
			if err := gocache.Renew(layer, now); err != nil {
				b.log.Debug().Err(err).Msg("entries of a build cache are copied before they are used")
			}
		}
	}
	return layers
}

// layers returns those of a commit and of what it is built on, without the cache. Many are merged into one.
func (b *Builds) layers(commit, cache string) (layers []string) {
	var top *built
	for c := b.commits[commit]; c != nil; c = b.commits[c.on] {
		if c.layer == "" {
			continue
		}
		if layers = append(layers, c.layer); top == nil {
			top = c
		}
	}
	if len(layers) <= maxLayers {
		return layers
	}
	*top = built{layer: b.next()}
	err := os.MkdirAll(b.dir, 0o700)
	if err = errors.Join(err, sandbox.Merge(top.layer, layers, cache)); err != nil {
		b.log.Warn().Err(err).Msg("the layers of the build cache are dropped: gates compile again the changes of this run")
		top.layer = ""
		return nil
	}
	return []string{top.layer}
}

// Keep makes a directory the layer of a commit, which has none yet.
func (b *Builds) Keep(commit, dir string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.commits[commit]
	if c == nil || c.layer != "" {
		return nil
	}
	layer := b.next()
	if err := errors.Join(os.MkdirAll(b.dir, 0o700), os.Rename(dir, layer)); err != nil {
		return err
	}
	c.layer = layer
	return nil
}

// Trim removes from the cache itself what is old.
func (b *Builds) Trim(cache string) error { return gocache.Trim(cache, b.clock()) }

func (b *Builds) next() string {
	b.count++
	return filepath.Join(b.dir, strconv.Itoa(b.count))
}

// CopyBuilds copies a build cache. Its files share their blocks with the copies where the file system can. What is no file, such
// as a socket, ends the copy: gates compile what is missing.
func CopyBuilds(to, cache string) error {
	root, err := os.OpenRoot(cache)
	if err != nil {
		return err
	}
	defer root.Close() // a handle
	if err := os.CopyFS(to, root.FS()); !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}
