package gocache

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/internal/testkit/chantest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle has a user's cache with a Lender, and a gate's.
type bundle struct {
	user, own directory
	lender    *Lender
}

func setup(t *testing.T) bundle {
	t.Helper()
	b := bundle{user: directory(t.TempDir()), own: directory(t.TempDir())}
	var err error
	b.lender, err = Lend(t.Context(), string(b.user), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.lender.Close() }) // a second time after counts
	return b
}

// counts ends the Lender, which has counted then.
func (b bundle) counts(t *testing.T, asked, lent int) {
	t.Helper()
	require.NoError(t, b.lender.Close())
	require.Equal(t, []int{asked, lent}, []int{b.lender.Asked, b.lender.Lent})
}

// asked are the answers to one go command that sends the requests.
func (b bundle) asked(t *testing.T, requests string) []answer {
	t.Helper()
	h := &helper{own: b.own, lender: b.lender.Socket}
	var out bytes.Buffer
	require.NoError(t, h.serve(strings.NewReader(requests), &out))
	return answers(t, &out)
}

func answers(t *testing.T, r io.Reader) []answer {
	t.Helper()
	var all []answer
	for d := json.NewDecoder(r); d.More(); {
		var a answer
		require.NoError(t, d.Decode(&a))
		all = append(all, a)
	}
	require.Equal(t, []string{"get", "put", "close"}, all[0].KnownCommands)
	return all[1:]
}

func line(t *testing.T, q request) string {
	t.Helper()
	text, err := json.Marshal(q)
	require.NoError(t, err)
	return string(text) + "\n\n"
}

func get(t *testing.T, action id) string {
	t.Helper()
	return line(t, request{ID: 7, Command: "get", ActionID: action[:]})
}

func put(t *testing.T, action id, text string) string {
	t.Helper()
	output := sha256.Sum256([]byte(text))
	head := line(t, request{ID: 8, Command: "put", ActionID: action[:], OutputID: output[:], BodySize: int64(len(text))})
	if text == "" {
		return head
	}
	return head + `"` + base64.StdEncoding.EncodeToString([]byte(text)) + "\"\n"
}

// has puts an entry into a cache.
func has(t *testing.T, d directory, action id, text string) entry {
	t.Helper()
	e := entry{output: sha256.Sum256([]byte(text)), size: int64(len(text)), made: 1}
	_, err := d.put(action, e, strings.NewReader(text))
	require.NoError(t, err)
	return e
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestOwnFirstThenTheUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	has(t, b.own, id{1}, "own")
	has(t, b.user, id{1}, "the user's of the same action")
	has(t, b.user, id{2}, "the user's")
	for range 2 { // what was lent once is the gate's own
		got := b.asked(t, get(t, id{1})+get(t, id{2})+get(t, id{3})+line(t, request{ID: 9, Command: "close"})+"not read")
		require.Equal(t, "own", read(t, got[0].DiskPath))
		require.Equal(t, "the user's", read(t, got[1].DiskPath))
		require.True(t, strings.HasPrefix(got[1].DiskPath, string(b.own)+"/"))
		require.EqualValues(t, len("the user's"), got[1].Size)
		require.Equal(t, answer{ID: 7, Miss: true}, got[2])
		require.Equal(t, answer{ID: 9}, got[3])
	}
	b.counts(t, 3, 1)
}

func TestPutIsFoundAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	large := strings.Repeat("0123456789abcdef", 1<<16)
	for i, text := range []string{"text", "", large} {
		got := b.asked(t, put(t, id{byte(i)}, text)+get(t, id{byte(i)}))
		require.Empty(t, got[0].Err)
		require.Equal(t, text, read(t, got[0].DiskPath))
		require.Equal(t, got[0].DiskPath, got[1].DiskPath)
	}
	require.Empty(t, files(t, b.user), "nothing is written to the user's cache")
}

// A body that is not what it claims is refused, and the next request is understood.
func TestPutRefusesAnotherBody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, replace := range [][2]string{
		{base64.StdEncoding.EncodeToString([]byte("text")), base64.StdEncoding.EncodeToString([]byte("TEXT"))},
		{base64.StdEncoding.EncodeToString([]byte("text")), base64.StdEncoding.EncodeToString([]byte("longer text"))},
		{base64.StdEncoding.EncodeToString([]byte("text")), base64.StdEncoding.EncodeToString([]byte("t"))},
		{base64.StdEncoding.EncodeToString([]byte("text")), ""},
	} {
		got := b.asked(t, strings.Replace(put(t, id{1}, "text"), replace[0], replace[1], 1)+get(t, id{1}))
		require.NotEmpty(t, got[0].Err, replace[1])
		require.True(t, got[1].Miss, replace[1])
		require.Empty(t, files(t, b.own), replace[1])
	}
}

func TestRequestsThatAreNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.asked(t, line(t, request{ID: 1, Command: "get2"})+line(t, request{ID: 2, Command: "get", ActionID: []byte("short")})+
		line(t, request{ID: 3, Command: "put", ActionID: make([]byte, 32), OutputID: []byte("short")}))
	for _, a := range got {
		require.NotEmpty(t, a.Err)
	}
	require.Len(t, got, 3)
	for name, text := range map[string]string{
		"no JSON": "hello\n", "an end within a line": `{"ID":1`,
		"no body":     line(t, request{Command: "put", ActionID: make([]byte, 32), OutputID: make([]byte, 32), BodySize: 3}),
		"half a body": strings.TrimSuffix(put(t, id{1}, "text"), "=\"\n"),
		"no base64":   line(t, request{Command: "put", BodySize: 3}) + `"no base64!"`,
		"no quote":    line(t, request{Command: "put", BodySize: 3}) + "abc",
	} {
		h := &helper{own: b.own, lender: b.lender.Socket}
		require.Error(t, h.serve(strings.NewReader(text), io.Discard), name)
	}
	require.Empty(t, files(t, b.own))
}

// What is wrong with the user's cache is a miss, and a compilation.
func TestDamagedEntriesAreMisses(t *testing.T) {
	t.Parallel()
	const text = "what was compiled"
	for name, damage := range map[string]func(t *testing.T, entry, output string){
		"another byte": func(t *testing.T, _, output string) {
			t.Helper()
			require.NoError(t, os.WriteFile(output, []byte("What was compiled"), 0o600))
		},
		"truncated": func(t *testing.T, _, output string) {
			t.Helper()
			require.NoError(t, os.Truncate(output, 4))
		},
		"no output": func(t *testing.T, _, output string) {
			t.Helper()
			require.NoError(t, os.Remove(output))
		},
		"an unreadable output": func(t *testing.T, _, output string) {
			t.Helper()
			require.NoError(t, os.Remove(output))
			require.NoError(t, os.Symlink("/proc/self/mem", output)) // root reads what has no permission
		},
		"a program": func(t *testing.T, _, output string) {
			t.Helper()
			require.NoError(t, os.Remove(output))
			require.NoError(t, os.Mkdir(output, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(output, "program"), []byte(text), 0o600))
		},
		"an empty entry": func(t *testing.T, entry, _ string) {
			t.Helper()
			require.NoError(t, os.Truncate(entry, 0))
		},
		"half an entry": func(t *testing.T, entry, _ string) {
			t.Helper()
			require.NoError(t, os.Truncate(entry, 80))
		},
		"the entry of another": func(t *testing.T, entry, _ string) {
			t.Helper()
			require.NoError(t, os.WriteFile(entry, []byte(newEntry(sha256.Sum256([]byte(text)), int64(len(text))).line(id{9})), 0o600))
		},
		"an entry with more": func(t *testing.T, entry, _ string) {
			t.Helper()
			require.NoError(t, os.WriteFile(entry, []byte(read(t, entry)+"more"), 0o600))
		},
		"another output": func(t *testing.T, entry, output string) {
			t.Helper()
			other := strings.Repeat("0", 64)
			require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(filepath.Dir(output)), "00"), 0o700))
			require.NoError(t, os.Rename(output, filepath.Join(filepath.Dir(filepath.Dir(output)), "00", other+"-d")))
			was := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
			require.NoError(t, os.WriteFile(entry, []byte(strings.Replace(read(t, entry), was, other, 1)), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			e := has(t, b.user, id{1}, text)
			has(t, b.user, id{2}, "sound")
			damage(t, b.user.file(id{1}, "a"), b.user.file(e.output, "d"))
			got := b.asked(t, get(t, id{1})+get(t, id{2})+put(t, id{1}, text)+get(t, id{1}))
			require.True(t, got[0].Miss)
			require.Equal(t, "sound", read(t, got[1].DiskPath))
			require.Equal(t, text, read(t, got[3].DiskPath))
		})
	}
}

// An entry whose output is being written has not its size yet; later it is found.
func TestAnEntryThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := has(t, b.user, id{1}, "first, second")
	output := b.user.file(e.output, "d")
	for _, text := range []string{"", "first", "first, secon", "first, \x00\x00\x00\x00\x00\x00"} {
		require.NoError(t, os.WriteFile(output, []byte(text), 0o600))
		got := b.asked(t, get(t, id{1}))
		require.True(t, got[0].Miss, text)
	}
	require.NoError(t, os.WriteFile(output, []byte("first, second"), 0o600))
	got := b.asked(t, get(t, id{1}))
	require.Equal(t, "first, second", read(t, got[0].DiskPath))
}

// Go commands that run at the same time put and borrow the same entries.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	has(t, b.user, id{1}, "lent")
	requests, done := get(t, id{1})+put(t, id{2}, "put")+get(t, id{2}), make(chan error, 8)
	for range cap(done) {
		go func() {
			h := &helper{own: b.own, lender: b.lender.Socket}
			done <- h.serve(strings.NewReader(requests), io.Discard)
		}()
	}
	for range cap(done) {
		require.NoError(t, chantest.Next(t, done))
	}
	require.Len(t, files(t, b.own), 4, "two entries, their outputs, and nothing else")
	require.NoError(t, b.lender.Close())
	got := b.asked(t, get(t, id{1})+get(t, id{2}))
	require.Equal(t, "lent", read(t, got[0].DiskPath))
	require.Equal(t, "put", read(t, got[1].DiskPath))
}

func TestWithoutALender(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.lender.Close())
	require.NoFileExists(t, b.lender.Socket)
	got := b.asked(t, get(t, id{1})+put(t, id{1}, "x")+get(t, id{1}))
	require.True(t, got[0].Miss)
	require.Equal(t, "x", read(t, got[2].DiskPath))
}

// files lists the files of a cache.
func files(t *testing.T, d directory) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(string(d), func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = append(found, path+" "+read(t, path))
		}
		return err
	}))
	return found
}

// A real go command takes from the user's cache what it would have compiled, and finds it in the gate's without this program too.
func TestTheGoCommand(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	b, dir := setup(t), t.TempDir()
	for name, text := range map[string]string{
		"m/go.mod": "module m\n\ngo 1.26\n\nrequire dep v0.0.0\n\nreplace dep => ../dep\n",
		"m/m.go":   "package m\n\nimport \"dep\"\n\nconst M = dep.D\n", "dep/go.mod": "module dep\n\ngo 1.26\n", "dep/d.go": "package dep\n\nconst D = 1\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(dir, Marker)
	require.NoError(t, os.Symlink(self, program))
	compiled := func(cache directory, env ...string) int {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-x", "./...")
		cmd.Dir = filepath.Join(dir, "m")
		cmd.Env = append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GOCACHE=" + string(cache), "GOPROXY=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off",
			"GOFLAGS=", "GOENV=off",
		}, env...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.Count(string(out), "/compile ")
	}
	borrowing := "GOCACHEPROG=" + program + " " + b.lender.Socket
	require.Equal(t, 2, compiled(directory(t.TempDir()), borrowing), "the user's cache is empty: both packages are compiled")
	require.Equal(t, 2, compiled(b.user), "the user compiles both")
	before := files(t, b.user)
	require.Zero(t, compiled(b.own, borrowing))
	require.Equal(t, before, files(t, b.user), "the user's cache is as it was")
	require.NoError(t, b.lender.Close())
	require.Positive(t, b.lender.Lent)
	require.Zero(t, compiled(b.own), "the go command finds the copies by itself")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "dep/d.go"), []byte("package dep\n\nconst D = 2\n"), 0o600))
	require.Equal(t, 2, compiled(b.own, borrowing), "what changed is compiled, and put")
	require.Zero(t, compiled(b.own, borrowing))
	require.Zero(t, compiled(b.own))
}

// No stream makes it fail otherwise than with an error, and nothing wrong is kept.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"ID":1,"Command":"close"}` + "\n"))
	f.Add([]byte(`{"ID":1,"Command":"get","ActionID":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}` + "\n"))
	f.Add([]byte(`{"ID":1,"Command":"put","ActionID":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",` +
		`"OutputID":"LXEWQrcmsEQBYnyp++MvXIUw+xkDzE2wJYcXkho4gSQ=","BodySize":1}` + "\n\n\"eA==\"\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		own := directory(t.TempDir())
		h := &helper{own: own, lender: filepath.Join(string(own), "none")}
		if h.serve(bytes.NewReader(stream), io.Discard) != nil {
			return
		}
		for _, file := range files(t, own) {
			path, text, _ := strings.Cut(file, " ")
			if name, output := strings.CutSuffix(filepath.Base(path), "-d"); output {
				require.Equal(t, name, fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
			}
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	f.Add(newEntry(id{2}, 3).line(id{1}))
	f.Add("v1 00 00 0 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := parseEntry(id{1}, text); err == nil {
			require.Equal(t, text, e.line(id{1}))
			require.GreaterOrEqual(t, e.size, int64(0))
		}
	})
}

// The longest entry is shorter than what is read of it.
func TestTheLengthOfAnEntry(t *testing.T) {
	t.Parallel()
	e := entry{size: 1<<63 - 1, made: 1<<63 - 1}
	require.Less(t, len(e.line(id{})), maxLine)
	got, err := parseEntry(id{}, e.line(id{}))
	require.NoError(t, err)
	require.Equal(t, e, got)
}
