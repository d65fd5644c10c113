package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMemoryOfARepositoryWithoutNotes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	m := p.open()
	require.Empty(t, found(t, m, "anything"))
	notes, err := m.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, notes)
	require.NoDirExists(t, filepath.Join(p.repo, ".divisi"), "looking changes nothing in the repository")
	_, _, err = Open(t.Context(), Options{Repo: filepath.Join(p.repo, "nowhere")})
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestBrokenNotesAreNamedAndTheOthersLoad(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"good.md": "good text", "sub/dir/deep.md": "deep text", "bad.md": "---\ntitel: x\n---\n", "big.md": strings.Repeat("a ", maxNote),
		"latin.md": "caf\xe9", "not-a-note.txt": "text", ".hidden.md": "text", ".git/x.md": "text",
	})
	secret := filepath.Join(t.TempDir(), "secret.md")
	require.NoError(t, os.WriteFile(secret, []byte("secret text"), 0o600))
	require.NoError(t, os.Symlink(secret, p.file("link.md")))
	require.NoError(t, os.Symlink(filepath.Dir(secret), p.file("outside")))
	require.NoError(t, os.Symlink("good.md", p.file("inside.md")))
	require.NoError(t, os.Mkdir(p.file("dir.md"), 0o755))
	m := p.open(
		".divisi/memory/link.md: it cannot be read: path escapes",
		".divisi/memory/bad.md:2:1: unknown field", ".divisi/memory/big.md: it is larger than 64 KiB",
		".divisi/memory/latin.md:1:1: it is not UTF-8",
	)
	notes, err := m.List(t.Context())
	require.NoError(t, err)
	var names []string
	for _, n := range notes {
		names = append(names, n.Name)
	}
	require.Equal(t, []string{"good", "inside", "sub/dir/deep"}, names)
	require.Empty(t, found(t, m, "secret"))
	require.Equal(t, Note{Name: "sub/dir/deep", Title: "deep", Text: "deep text"}, notes[2])
}

func TestADirectoryThatLeadsOutIsNotRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "a.md"), []byte("secret"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(p.repo, ".divisi"), 0o755))
	require.NoError(t, os.Symlink(outside, p.file("")))
	m := p.open(".divisi/memory: it cannot be read: it is not a directory")
	require.Empty(t, found(t, m, "secret"))
	require.Error(t, p.accept(m, Note{Title: "b", Text: "c"}))
	require.NoFileExists(t, filepath.Join(outside, "b.md"))
}

func TestADirectoryThatIsALinkIsNotFollowedInsideTheRepositoryEither(t *testing.T) {
	t.Parallel()
	for link, to := range map[string]string{".divisi/memory": "../docs", ".divisi": "docs"} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, nil)
			docs := filepath.Join(p.repo, "docs")
			require.NoError(t, os.MkdirAll(filepath.Join(docs, "memory"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(docs, "a.md"), []byte("manual"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(docs, "memory", "a.md"), []byte("manual"), 0o600))
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(p.repo, link)), 0o755))
			require.NoError(t, os.Symlink(to, filepath.Join(p.repo, link)))
			m := p.open(".divisi/memory: it cannot be read: it is not a directory, and links are not followed here")
			require.Empty(t, found(t, m, "manual"))
			require.ErrorContains(t, p.accept(m, Note{Title: "b", Text: "c"}), "links are not followed here")
			for _, dir := range []string{docs, filepath.Join(docs, "memory")} {
				require.NoFileExists(t, filepath.Join(dir, "b.md"))
			}
		})
	}
}

func TestOnlySoManyNotesAreRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "first"})
	for i := range maxNotes + 1 {
		require.NoError(t, os.WriteFile(p.file(fmt.Sprintf("n%05d.md", i)), nil, 0o600))
	}
	dir, err := notesDir{p.repo}.open(false)
	require.NoError(t, err)
	defer func() { require.NoError(t, dir.Close()) }()
	all, problems, err := files(dir)
	require.NoError(t, err)
	require.Len(t, all, maxNotes)
	require.Equal(t, "a", all[0].name)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].String(), "there are 10002 notes; only the first 10000 by name are read")
}

// All notes are held in memory: a repository cannot fill it.
func TestOnlySoMuchOfTheNotesIsRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": strings.Repeat("a ", maxNote)})
	for i := range maxBytes / maxNote {
		p.write(fmt.Sprintf("n%03d.md", i), strings.Repeat(fmt.Sprintf("word%d \n", i), maxNote)[:maxNote-1])
	}
	p.write("z.md", "small")
	m, problems, err := Open(t.Context(), p.options())
	require.NoError(t, err)
	require.Len(t, problems, 2)
	require.Contains(t, problems[0].String(), "there are 258 notes; only the first ")
	require.Contains(t, problems[0].String(), " by name are read (at most 10000, of 16 MiB together): remove some")
	require.Contains(t, problems[1].String(), "a.md: it is larger than 64 KiB")
	require.Contains(t, found(t, m, "word254"), "n254")
	require.Empty(t, found(t, m, "small"))
}

func TestAnAcceptedNoteIsCopiedUnderItsTitle(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"use-slog.md": "mine"})
	m := p.open()
	n := Note{Title: "Use slog!", Tags: []string{"log"}, Text: "No globals.", Created: noon}
	require.NoError(t, p.accept(m, n))
	require.Equal(t, []string{"use-slog-2"}, found(t, m, "globals"), "nothing is overwritten")
	notes, err := m.List(t.Context())
	require.NoError(t, err)
	n.Name = "use-slog-2"
	require.Equal(t, n, notes[1])
	name, err := m.notes.add(n.Title, n.Render())
	require.NoError(t, err)
	require.Equal(t, "use-slog-2", name, "the very same note is there already")
	for title, want := range map[string]string{"…": "note", "ÄB/../c": "äb-c", strings.Repeat("長", 50): strings.Repeat("長", 20)} {
		require.NoError(t, p.accept(m, Note{Title: title, Text: "x"}))
		require.FileExists(t, p.file(want+".md"))
	}
}

func TestRefreshReadsWhatChanged(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "apple", "b.md": "banana", "c.md": "cherry"})
	o := p.options()
	o.Clock = func() time.Time { return time.Now().Add(time.Hour) } // so that files are not taken for just written
	m := p.openWith(o)
	p.write("a.md", "apricot")
	require.NoError(t, os.Remove(p.file("b.md")))
	p.write("d.md", "date")
	require.Equal(t, []string{"a"}, found(t, m, "apple"), "nothing changes unasked")
	problems, err := m.Refresh(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Equal(t, []string{}, found(t, m, "apple banana"))
	require.Equal(t, []string{"a", "c", "d"}, found(t, m, "apricot cherry date"))
	p.write("a.md", "---\nx: y\n---\n")
	problems, err = m.Refresh(t.Context())
	require.NoError(t, err)
	require.Len(t, problems, 1)
	require.Empty(t, found(t, m, "apricot"), "what a broken note said before is not told any more")
	require.NoError(t, os.RemoveAll(p.file("")))
	_, err = m.Refresh(t.Context())
	require.NoError(t, err)
	require.Empty(t, found(t, m, "cherry"))
}

// A file that changes without a change of its size and time is read again while it is new.
func TestAFileThatWasJustWrittenIsReadAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "apple"})
	at := noon.Add(-time.Second)
	require.NoError(t, os.Chtimes(p.file("a.md"), at, at))
	m := p.open()
	p.write("a.md", "peach")
	require.NoError(t, os.Chtimes(p.file("a.md"), at, at))
	_, err := m.Refresh(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, found(t, m, "peach"))
}

// However an index came to be, by changes or rebuilt, it gives the same hits with the same scores.
func TestAnIndexThatWasChangedIsLikeANewOne(t *testing.T) {
	t.Parallel()
	words := strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho")
	rapid.Check(t, func(rt *rapid.T) {
		p := newPlace(t, map[string]string{"x.md": "alpha"})
		m := p.open()
		for range rapid.IntRange(1, 5).Draw(rt, "rounds") {
			for range rapid.IntRange(1, 6).Draw(rt, "changes") {
				name := fmt.Sprintf("n%d.md", rapid.IntRange(0, 5).Draw(rt, "note"))
				if rapid.Bool().Draw(rt, "remove") {
					if err := os.Remove(p.file(name)); err != nil {
						require.ErrorIs(rt, err, fs.ErrNotExist)
					}
					continue
				}
				p.write(name, strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 30).Draw(rt, "text"), " "))
			}
			_, err := m.Refresh(t.Context())
			require.NoError(rt, err)
		}
		fresh, _, err := Open(t.Context(), Options{Repo: p.repo})
		require.NoError(rt, err)
		for _, query := range []string{"alpha", "beta gamma", strings.Join(words, " ")} {
			want, err := fresh.Search(t.Context(), query, 10)
			require.NoError(rt, err)
			got, err := m.Search(t.Context(), query, 10)
			require.NoError(rt, err)
			require.Equal(rt, want, got, query)
		}
	})
}

func TestAHomeThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "apple"})
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	o := p.options()
	o.Home = filepath.Join(file, "home")
	m := p.openWith(o)
	require.Equal(t, []string{"a"}, found(t, m, "apple"))
	p.write("b.md", "banana")
	_, err := m.Refresh(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, found(t, m, "banana"))
	_, err = m.Propose(t.Context(), Note{Title: "a", Text: "b"})
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrRefused)
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for i := range 30 {
		p.write(fmt.Sprintf("n%d.md", i), fmt.Sprintf("common word%d", i))
	}
	var all sync.WaitGroup
	errs := make(chan error, 64)
	for i := range 6 { // as processes do: each with an index of its own over the same files
		all.Go(func() {
			m, _, err := Open(t.Context(), p.options())
			if err != nil {
				errs <- err
				return
			}
			var inner sync.WaitGroup
			for j := range 4 {
				inner.Go(func() {
					_, err := m.notes.add(fmt.Sprintf("own %d %d", i, j), []byte("common"))
					_, rerr := m.Refresh(t.Context())
					err = errors.Join(err, rerr)
					hits, serr := m.Search(t.Context(), "common", 50)
					if len(hits) < 31 {
						serr = fmt.Errorf("only %d hits", len(hits))
					}
					errs <- errors.Join(err, serr)
				})
			}
			inner.Wait()
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, found(t, p.open(), "own"), 10)
}

func TestACancelledContextIsAnError(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "apple"})
	m := p.open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Search(ctx, "apple", 3)
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.Refresh(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.Propose(ctx, Note{})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"a"}, found(t, m, "apple"))
}

func TestHome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "repo"), 0o755))
	repo := Home("/state", filepath.Join(dir, "repo"))
	require.Equal(t, filepath.Join("/state", "memory"), filepath.Dir(repo))
	require.Len(t, filepath.Base(repo), 16)
	require.NotEqual(t, repo, Home("/state", dir))
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink("repo", filepath.Join(dir, "link")))
		require.Equal(t, repo, Home("/state", filepath.Join(dir, "link")))
	}
}
