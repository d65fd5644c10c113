package record

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
)

// sound is a whole exchange.
func sound(t testing.TB) (name string, data []byte) {
	t.Helper()
	x := exchange{
		key: key{"t", 1, 2, "turn"}, Occurrence: 3, Session: 1, Request: []byte(`{"model":"m","contents":[]}`),
		Events: []event{{Ms: 1, Delta: &genai.Part{Text: "é"}}}, Ms: 2,
		Result: &model.Result{Content: genai.NewContentFromText("é", "model"), Finish: "STOP"},
	}
	data, err := encode(&x, nil)
	require.NoError(t, err)
	return x.name(), data
}

func TestADamagedFileIsNamed(t *testing.T) {
	t.Parallel()
	name, data := sound(t)
	change := func(from, to string) []byte {
		out := bytes.Replace(data, []byte(from), []byte(to), 1)
		require.NotEqual(t, data, out, from)
		return out
	}
	for _, c := range []struct {
		what, name string
		data       []byte
		want       string
	}{
		{"empty", name, nil, "the file is cut off"},
		{"not JSON", name, []byte("hello"), "it is no part of a recording: invalid character"},
		{"another program's", "package.json", []byte(`{"name": "x"}`), `it is no part of a recording: json: unknown field "name"`},
		{"a list", name, []byte("[]"), "it is no part of a recording"},
		{"more after it", name, append(bytes.Clone(data), '{'), "there is something after its end"},
		{"renamed", "t.1.002.turn.4.json", data, "contains the exchange of t, attempt 1, turn 2 (turn), which belongs into " + name},
		{"wrong type", name, change(`"turn": 2`, `"turn": "2"`), "it is no part of a recording"},
		{"unknown field", name, change(`"ms": 2`, `"mss": 2`), `unknown field "mss"`},
		{"no occurrence", name, change(`"occurrence": 3`, `"occurrence": 0`), "its numbers cannot be"},
		{"no session", name, change(`"session": 1`, `"session": 0`), "its numbers cannot be"},
		{"no request", name, change(`"request": {`, `"request": 1, "result": {`), "it is no part of a recording"},
		{"request of another kind", name, []byte(`{"occurrence": 1, "session": 1, "request": "x"}`), "it has no request"},
		{"two ends", name, change(`"ms": 2,`, `"ms": 2, "broken_off": true,`), "it needs one of result, error and broken_off"},
		{"no end", name, []byte(`{"occurrence": 1, "session": 1, "request": {}}`), "it needs one of result"},
		{"error without a class", name, []byte(`{"occurrence": 1, "session": 1, "request": {}, "error": {}}`), "its error has no class"},
		{"result without a content", name, []byte(`{"occurrence": 1, "session": 1, "request": {}, "result": {}}`), "its result has no content"},
		{
			"result with a null part", name,
			[]byte(`{"occurrence": 1, "session": 1, "request": {}, "result": {"content": {"parts": [null]}}}`), "or an empty part",
		},
		{
			"event without a delta", name,
			[]byte(`{"occurrence": 1, "session": 1, "request": {}, "broken_off": true, "events": [{"ms": 1}]}`),
			"events[0] has no delta",
		},
	} {
		dir := t.TempDir()
		recorder(t, dir, thisRun)
		require.NoError(t, os.WriteFile(filepath.Join(dir, c.name), c.data, 0o600))
		_, err := Load(dir, nil)
		require.ErrorContains(t, err, c.want, c.what)
		require.ErrorContains(t, err, c.name, c.what)
		require.ErrorContains(t, err, "the recording "+dir+" cannot be used", c.what)
	}
}

func TestEveryPlaceWhereAFileCanBeCut(t *testing.T) {
	t.Parallel()
	name, data := sound(t)
	end := len(bytes.TrimSpace(data))
	for i := range end {
		_, err := parse(name, data[:i])
		require.EqualError(t, err, name+": the file is cut off", "after %d bytes", i)
	}
	_, err := parse(name, data[:end])
	require.NoError(t, err)
}

func TestAllDamagedFilesAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recorder(t, dir, thisRun)
	for _, name := range []string{"a.json", "b.json", ".half-written.json", "README.md"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600))
	}
	_, err := Load(dir, nil)
	require.ErrorContains(t, err, "\na.json: ")
	require.ErrorContains(t, err, "\nb.json: ")
	require.NotContains(t, err.Error(), "half-written", "a killed process leaves such behind")
	require.NotContains(t, err.Error(), "README")
}

func TestWhatIsNoRecording(t *testing.T) {
	t.Parallel()
	load := func(dir string) error {
		_, err := Load(dir, nil)
		return err
	}
	dir := t.TempDir()
	require.ErrorContains(t, load(dir), "is no recording: it has no recording.json")
	require.ErrorContains(t, load(filepath.Join(dir, "none")), "is no recording")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, load(file))
	marker := filepath.Join(dir, markerFile)
	for text, want := range map[string]string{
		"":                           "recording.json: the file is cut off",
		`{"format": 1, "run": 1}`:    "recording.json: it is no part of a recording",
		`{"format": 99, "run": "r"}`: "recording.json has format 99, and this program reads 1",
	} {
		require.NoError(t, os.WriteFile(marker, []byte(text), 0o600))
		require.ErrorContains(t, load(dir), want)
	}
	require.NoError(t, os.Remove(marker))
	require.NoError(t, os.Mkdir(marker, 0o700))
	require.ErrorContains(t, load(dir), "recording.json is not a plain file")
}

func TestALinkInARecordingIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recorder(t, dir, thisRun)
	name, data := sound(t)
	elsewhere := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(elsewhere, data, 0o600))
	if err := os.Symlink(elsewhere, filepath.Join(dir, name)); err != nil {
		t.Skip("this disk has no links")
	}
	_, err := Load(dir, nil)
	require.ErrorContains(t, err, name+" is not a plain file")
}

// A file that changes under a replay is an error of that call.
func TestAFileThatGoesAwayLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text(t, recorder(t, dir, thisRun).Model(says("x")), ask(thisRun, "x", 1))
	p := replay(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t.1.001.turn.1.json"), []byte("{"), 0o600))
	got := steps(t.Context(), p, ask(thisRun, "x", 1))
	require.Len(t, got, 1)
	require.Equal(t, model.Unavailable, model.AsError(got[0].err).Class)
	require.ErrorContains(t, got[0].err, "t.1.001.turn.1.json: the file is cut off")
}

// What is taken is what would be written, and can be replayed; nothing makes the parser fall over.
func FuzzParse(f *testing.F) {
	name, data := sound(f)
	f.Add(name, data)
	f.Add(name, data[:len(data)/2])
	f.Add("t.0.000..1.json", []byte(`{"occurrence":1,"session":1,"request":{},"broken_off":true}`))
	f.Add("t.0.000..1.json", []byte(`{"task":"t","occurrence":1,"session":1,"request":{},"error":{"class":"x","retry_after":"1s"}}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		x, err := parse(name, data)
		if err != nil {
			require.True(t, strings.Contains(err.Error(), name) || name == "")
			return
		}
		require.Equal(t, name, x.name())
		require.NotContains(t, name, "/")
		again, err := encode(x, nil)
		require.NoError(t, err)
		back, err := parse(name, again)
		require.NoError(t, err)
		require.Equal(t, x.key, back.key)
		ev, err := x.last()
		require.NotEqual(t, ev.Result != nil, err != nil)
		d, err := comparison{}.differ(x.Request, x.Request)
		require.NoError(t, err)
		require.Empty(t, d)
	})
}
