package tool

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// line is the arguments of a test's tool.
type line struct {
	Text  string               `json:"text" jsonschema:"what is run"`
	Many  []string             `json:"many,omitempty"`
	Count *int                 `json:"count,omitempty"`
	Small float64              `json:"small,omitempty"`
	Scope spec.IncludeContents `json:"scope,omitempty" enum:"none,full"`
	List  []item               `json:"list,omitempty"`
}

type item struct {
	Kept bool `json:"kept"`
}

func (l line) Doing() string { return "running " + l.Text }

// echo reports what it was called with.
func echo(name string, effect Effect) Tool {
	return New(name, "Echoes a line.", effect, func(ctx context.Context, l line) Result {
		data, err := json.Marshal(l)
		if err != nil {
			return Failed("%v", err)
		}
		return Text(CallID(ctx) + " " + string(data))
	})
}

func testSet(t testing.TB, names []string, tools ...Tool) *Set {
	t.Helper()
	set, err := NewSet(nil, names, tools...)
	require.NoError(t, err)
	return set
}

func TestNewDeclaresTheFieldsOfItsArguments(t *testing.T) {
	t.Parallel()
	tool := echo("echo", Asks)
	data, err := json.Marshal(tool.Declaration())
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"echo","description":"Echoes a line.","parametersJsonSchema":{"type":"object","required":["text"],"properties":{
		"text":{"type":"string","description":"what is run"},"many":{"type":"array","items":{"type":"string"}},"count":{"type":"integer"},
		"small":{"type":"number"},"scope":{"type":"string","enum":["none","full"]},
		"list":{"type":"array","items":{"type":"object","required":["kept"],"properties":{"kept":{"type":"boolean"}}}}}}}`, string(data))
	require.Panics(t, func() { New("x", "", Reads, func(context.Context, struct{ F func() }) Result { return Text("") }) })

	set := testSet(t, nil, tool)
	r := set.Run(t.Context(), Call{ID: "7", Name: "echo", Args: args{"text": "a", "many": []any{"b"}, "count": 0.0, "list": []any{args{"kept": true}}}})
	require.Equal(t, `7 {"text":"a","many":["b"],"count":0,"list":[{"kept":true}]}`, r.Output["output"])
}

func TestEveryErrorOfArgumentsAtOnce(t *testing.T) {
	t.Parallel()
	set := testSet(t, nil, echo("echo", Reads))
	fails := func(a args) string {
		r := set.Run(t.Context(), Call{Name: "echo", Args: a})
		require.True(t, r.Err)
		return r.Output["error"].(string)
	}
	said := fails(args{"txt": "a", "count": "one", "small": "x", "scope": "some", "list": []any{args{"kpt": 1}}})
	for _, why := range []string{
		`there is no argument "txt" (did you mean "text"?)`, "missing: text", "count: is of type string and must be integer", "small: ",
		"scope: value must be one of", `list[0]: there is no argument "kpt"`, "list[0]: missing: kept",
	} {
		require.Contains(t, said, why)
	}
	require.Contains(t, fails(args{"text": math.NaN()}), "not JSON")
	require.Contains(t, fails(args{"text": "a", "count": 1e300}), "count: a number 1e+300 is no int here")
}

func TestSetChoosesByName(t *testing.T) {
	t.Parallel()
	_, err := NewSet(nil, []string{"serch", "read", "frobnicate"}, echo("search", Reads), echo("read", Reads))
	require.ErrorContains(t, err, `there is no tool "serch" (did you mean "search"?)`)
	require.ErrorContains(t, err, `there is no tool "frobnicate"`)
	set := testSet(t, []string{"search", "read", "search"}, echo("search", Reads), echo("read", Writes), echo("more", Reads))
	require.Equal(t, []string{"read", "search"}, set.Names())
	_, err = NewSet(nil, nil, echo("a", Reads), echo("a", Reads))
	require.ErrorContains(t, err, "two tools")
	require.Equal(t, Writes, set.Effect(Call{Name: "xyzzy"}), "what it was meant to touch is not known")
	require.Equal(t, Reads, set.Effect(Call{Name: "search"}), "its arguments do not fit")
	require.Equal(t, Writes, set.Effect(Call{Name: "read", Args: args{"text": "a"}}))
	_, err = set.Lookup("serch")
	require.ErrorContains(t, err, "did you mean search")
	_, err = set.Lookup("xyzzy")
	require.ErrorContains(t, err, "the tools are read, search")
}

func TestRunNeverPanics(t *testing.T) {
	t.Parallel()
	set := testSet(t, nil, New("breaks", "Breaks.", Reads, func(context.Context, struct{}) Result { panic("oh") }))
	r := set.Run(t.Context(), Call{Name: "breaks"})
	require.True(t, r.Err)
	require.Contains(t, r.Output["error"], "broke down: oh")
}

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := testSet(t, nil, echo("echo", Reads)).Run(ctx, Call{Name: "echo", Args: args{"text": "a"}})
	require.True(t, r.Err)
	require.Contains(t, r.Output["error"], "canceled")
}

func TestDoingIsOneShortLine(t *testing.T) {
	t.Parallel()
	set := testSet(t, nil, echo("echo", Reads))
	doing := set.Doing(Call{Name: "echo", Args: args{"text": "go test\n\x1b[31m " + strings.Repeat("x", 500), "count": "wrong"}})
	require.True(t, strings.HasPrefix(doing, "running go test [31m"), doing)
	require.LessOrEqual(t, len([]rune(doing)), 120)
}

func FuzzCheckArguments(f *testing.F) {
	f.Add(`{"text":"a","list":[{"kept":1}]}`)
	f.Add(`{"text":"s","many":[1,null,{"a":[]}],"scope":{}}`)
	f.Add(`{"text":"a","count":1e300}`)
	set := testSet(f, nil, echo("echo", Reads))
	f.Fuzz(func(t *testing.T, text string) {
		var a map[string]any
		if json.Unmarshal([]byte(text), &a) != nil {
			return
		}
		call := Call{Name: "echo", Args: a}
		if err := set.Check(call); err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		checked, err := set.checked(call)
		require.NoError(t, err)
		require.NoError(t, set.Check(checked), "a call that fits must fit again")
		require.NotEmpty(t, set.Doing(call))
	})
}
