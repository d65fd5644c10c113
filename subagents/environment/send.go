package environment

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ErrReceived reports that what came from elsewhere is not the environment that was sent.
var ErrReceived = errors.New("it is not the environment that was sent")

func received(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrReceived}, args...)...)
}

// maxManifest bounds a manifest that comes from elsewhere, in bytes.
const maxManifest = 4 << 20

// maxSent bounds an environment that comes from elsewhere, in bytes: what is sent is bounded so too.
const maxSent = 8 << 30

// Send writes an environment that was taken from a checkout as Receive reads it: a tar of its manifest and all its files.
func (e *Environment) Send(ctx context.Context, w io.Writer) error {
	data, err := json.Marshal(e.Manifest)
	if err != nil {
		return fmt.Errorf("encode the manifest of environment %s: %w", e.ID, err)
	}
	out := tar.NewWriter(w)
	err = out.WriteHeader(&tar.Header{Name: manifestFile, Typeflag: tar.TypeReg, Size: int64(len(data)), Mode: 0o600})
	if err == nil {
		_, err = out.Write(data)
	}
	if err == nil {
		err = eachEntry(e.Dir, func(name, file string, info fs.FileInfo) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return sendOne(out, name, file, info)
		})
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("send environment %s: %w", e.ID, err)
	}
	return nil
}

func sendOne(out *tar.Writer, name, file string, info fs.FileInfo) error {
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	switch {
	case info.IsDir():
		h.Typeflag = tar.TypeDir
		return out.WriteHeader(h)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(file)
		h.Typeflag, h.Linkname = tar.TypeSymlink, target
		return errors.Join(err, out.WriteHeader(h))
	}
	h.Size, h.ModTime = info.Size(), info.ModTime()
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return errors.Join(err, f.Close())
}

// Receive keeps the environment of an id that Send wrote, whose Content is content, or any where that is "". What is there
// already stays. What is not whole, or not what its manifest tells, is ErrReceived and leaves nothing.
func (s *Store) Receive(ctx context.Context, id, content string, r io.Reader, waiting func()) (*Environment, error) {
	in := tar.NewReader(r)
	sent, err := receiveManifest(in, id)
	if err == nil && content != "" && content != sent.Content {
		err = received("its content is %.80q, not %.80q", sent.Content, content)
	}
	if err != nil {
		return nil, err
	}
	e, made, err := s.Make(ctx, sent.Recipe, waiting, func(ctx context.Context, m *Making) error {
		m.want = sent.Content
		if err := m.receive(ctx, in, &sent); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, r) // it ends with an error where it is not what its name tells
		return err
	})
	if err == nil && !made && e.Content != sent.Content {
		err = received("this machine has another environment %s", id)
	}
	return e, err
}

func receiveManifest(in *tar.Reader, id string) (m Manifest, err error) {
	h, err := in.Next()
	if err != nil || h.Name != manifestFile || h.Size > maxManifest {
		return m, errors.Join(received("it does not begin with a manifest"), err)
	}
	if err := json.NewDecoder(in).Decode(&m); err != nil {
		return m, errors.Join(received("its manifest cannot be read"), err)
	}
	switch {
	case m.ID != id || m.Recipe.ID() != id:
		return m, received("its manifest is of environment %.80q, not %.80q", m.ID, id)
	case len(m.Recipe.Command) > 0 || len(m.Downloads) > 0:
		return m, received("it was made by a setup")
	}
	for _, name := range slices.Concat(m.Places, m.Files) {
		if !fs.ValidPath(name) || name == "." || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return m, received("the path %.80q has characters that no work tree can have", name)
		}
	}
	return m, nil
}

// receive fills the environment with what comes, and nothing beside it.
func (m *Making) receive(ctx context.Context, in *tar.Reader, sent *Manifest) error {
	root, err := os.OpenRoot(m.Dir)
	if err != nil {
		return err
	}
	defer root.Close() // a handle
	var dirs []*tar.Header
	entries, bytes := 0, int64(0)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("receive environment %s: %w", m.manifest.ID, err)
		}
		if entries, bytes = entries+1, bytes+h.Size; entries > maxEntries || bytes > min(sent.Bytes, maxSent) {
			return received("there are more than %d files, or more bytes than in its manifest, %d", maxEntries, sent.Bytes)
		}
		if err := receiveOne(root, in, h); err != nil {
			return fmt.Errorf("receive %.200q of environment %s: %w", h.Name, m.manifest.ID, err)
		}
		if h.Typeflag == tar.TypeDir {
			dirs = append(dirs, h)
		}
	}
	for _, h := range slices.Backward(dirs) { // once they are filled
		if err := root.Chmod(strings.TrimSuffix(h.Name, "/"), fs.FileMode(h.Mode).Perm()|0o700); err != nil {
			return fmt.Errorf("receive environment %s: %w", m.manifest.ID, err)
		}
	}
	m.manifest.Places, m.manifest.Files = sent.Places, sent.Files
	for _, name := range sent.Places {
		if info, err := below(root, name); err != nil || !info.IsDir() {
			return received("it lacks %.80q", name)
		}
	}
	for _, name := range sent.Files {
		if _, err := below(root, name); err != nil {
			return received("it lacks %.80q", name)
		}
	}
	return nil
}

// below describes what an environment has at a path of its tree. A parent that is a link would lead out of it, to what a worker
// can read and its commands must not.
func below(root *os.Root, name string) (info fs.FileInfo, err error) {
	at := treeDir
	for part := range strings.SplitSeq(name, "/") {
		if info, err = root.Lstat(at); err == nil && !info.IsDir() {
			err = fmt.Errorf("%.200q is no directory", at)
		}
		if err != nil {
			return nil, err
		}
		at = filepath.Join(at, part)
	}
	return root.Lstat(at)
}

func receiveOne(root *os.Root, in *tar.Reader, h *tar.Header) error {
	name := strings.TrimSuffix(h.Name, "/")
	part, _, below := strings.Cut(name, "/")
	if !below || !fs.ValidPath(name) || !slices.Contains([]string{treeDir, toolsDir, storesDir}, part) {
		return received("%.80q is no place of an environment", h.Name)
	}
	at := filepath.FromSlash(name)
	switch h.Typeflag {
	case tar.TypeDir:
		return root.Mkdir(at, 0o700)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, at)
	case tar.TypeReg:
	default:
		return received("%.80q is neither a file nor a directory nor a link", path.Base(name))
	}
	to, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	return errors.Join(err, to.Chmod(fs.FileMode(h.Mode).Perm()|0o400), to.Close(), root.Chtimes(at, h.ModTime, h.ModTime))
}
