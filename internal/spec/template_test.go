package spec

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// named answers every key with its own spelling in angle brackets, and gone with nothing.
func named(k TemplateKey) (string, error) {
	if strings.Contains(k.Name, "gone") {
		return "", ErrNoValue
	}
	return "<" + strings.Trim(k.String(), "{}") + ">", nil
}

func TestTemplateExpand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                 "",
		"Reach {goal} as {role}.":          "Reach <goal> as <role>.",
		"{goal}{goal?}{task}":              "<goal><goal?><task>",
		"a{artifact.gone?}b":               "ab",
		"{artifact.task-1/out.log}":        "<artifact.task-1/out.log>",
		"{artifact.v1.2_a?}":               "<artifact.v1.2_a?>",
		"{{goal}}":                         "{goal}",
		"{{goal}":                          "{goal}",
		"{{{goal}}}":                       "{<goal>}",
		"{{{{goal}}}}":                     "{{goal}}",
		`{"a":{"b":{goal}}}`:               `{"a":{"b":<goal>}}`,
		`{{"a":{{"b":{goal}}}}}`:           `{"a":{"b":<goal>}}`,
		"}} {{ }} }}":                      "}} { } }}",
		"{}{goal}{}":                       "{}<goal>{}",
		"{{.Name}} of {{goal}}":            "{.Name} of {goal}",
		"{ goal } {goal {goal ?} {goal??}": "{ goal } {goal {goal ?} {goal??}",
		"${goal}":                          "$<goal>",
	} {
		tmpl, problems := ParseTemplate(text)
		require.Empty(t, problems, text)
		got, err := tmpl.Expand(named)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestTemplateLeavesCodeAlone(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		`{ "a": 1 }`, `{"a":1,"b":[{"c":{}}]}`, `{"a":{"b":1}}`, `func() {}`, `map[string]struct{}{}`, `[]int{1, 2}`, `{0} {-} {a b}`,
		`{user:name}`, `{artifact.}`, `{artifact.a b}`, `{größe}`, "if x {\n\treturn\n}\n", `}}`, `} {`, `{`, `}`, `{go-al}`, `a}}}b`,
	} {
		tmpl, problems := ParseTemplate(code)
		require.Empty(t, problems, code)
		require.Empty(t, tmpl.Keys(), code)
		got, err := tmpl.Expand(nil)
		require.NoError(t, err)
		require.Equal(t, code, got)
	}
}

func TestTemplateValuesAreNotExpandedAgain(t *testing.T) {
	t.Parallel()
	tmpl, _ := ParseTemplate("{goal}{{")
	got, err := tmpl.Expand(func(TemplateKey) (string, error) { return "{role} {{ }}", nil })
	require.NoError(t, err)
	require.Equal(t, "{role} {{ }}{", got)
}

func TestTemplateKeysOfAText(t *testing.T) {
	t.Parallel()
	tmpl, problems := ParseTemplate("{role?} é {goal}\n {artifact.goal?} {goal?}{{task}}\r\n\t{role?}{artifact.goal}")
	require.Empty(t, problems)
	require.Equal(t, []TemplateKey{
		{Name: "role", Optional: true, Line: 1, Col: 1},
		{Name: "goal", Line: 1, Col: 11},
		{Name: "goal", Artifact: true, Line: 2, Col: 2},
	}, tmpl.Keys())
}

func TestTemplateProblems(t *testing.T) {
	t.Parallel()
	_, problems := ParseTemplate("é {gaol}\nfor {goal}, {turnsleft?} {zzz}{gaol}")
	require.Equal(t, "1:3: there is no key {gaol} for instructions; there are goal, run, role, model, task, title, attempt, turn, "+
		"turns_left, tokens_left, files, and artifact.NAME; the text itself is written {{gaol}} (did you mean \"goal\"?)",
		problems[0].String())
	var places []string
	for _, p := range problems {
		places = append(places, p.Path+" "+p.Suggest)
	}
	require.Equal(t, []string{"1:3 goal", "2:13 turns_left", "2:26 ", "2:31 goal"}, places)

	role := Role{Name: "x", Executor: ExecutorModel, Instruction: "a\n{gaol}"}
	require.Contains(t, said(role.Validate(Env{})), "instruction:2:1: there is no key {gaol}")
	role.Instruction = "{{gaol}} {goal} {artifact.any}"
	require.Empty(t, role.Validate(Env{}))
}

func TestTemplateExpandErrors(t *testing.T) {
	t.Parallel()
	tmpl, _ := ParseTemplate("a\n {goal}")
	_, err := tmpl.Expand(func(TemplateKey) (string, error) { return "", ErrNoValue })
	require.EqualError(t, err, "line 2, column 2: the value of {goal}: it has no value")
	tmpl, _ = ParseTemplate("{gaol?}")
	broken := errors.New("the store is closed")
	_, err = tmpl.Expand(func(TemplateKey) (string, error) { return "", broken })
	require.ErrorIs(t, err, broken, "optional forgives a missing value, not a fault")
	require.EqualError(t, err, "line 1, column 1: the value of {gaol?} (did you mean {goal}?): the store is closed")
}

func TestTemplateKeysHaveOneMeaningEach(t *testing.T) {
	t.Parallel()
	stable := map[string]bool{}
	for _, v := range TemplateKeys() {
		require.NotContains(t, stable, v.Name)
		stable[v.Name] = v.Stable
		_, problems := ParseTemplate("{" + v.Name + "}")
		require.Empty(t, problems)
	}
	require.True(t, stable["goal"] && stable["run"] && stable["role"] && stable["model"])
	require.False(t, stable["turn"] || stable["task"] || stable["files"])
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"{goal} {{x}} }} {artifact.a/b?}", "{{}}}", "}{{}{{{goal}}}", "a\nb {zzz?}\xff", `{"a":{"b":{}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, problems := ParseTemplate(text)
		got, err := tmpl.Expand(named)
		if len(tmpl.Keys()) == 0 {
			require.NoError(t, err)
			require.Empty(t, problems)
		}
		if len(tmpl.Keys()) == 0 && !strings.Contains(text, "{{") {
			require.Equal(t, text, got)
		}
		for _, k := range tmpl.Keys() {
			line := strings.Split(text, "\n")[k.Line-1]
			require.True(t, strings.HasPrefix(string([]rune(line)[k.Col-1:]), strings.TrimSuffix(k.String(), "}")), "%v", k)
		}
		tmpl, problems = ParseTemplate(escaped(text))
		require.Empty(t, problems)
		require.Empty(t, tmpl.Keys())
		got, err = tmpl.Expand(nil)
		require.NoError(t, err)
		require.Equal(t, text, got)
	})
}

// escaped writes a text so that a template of it alone expands to the text, whatever is in it.
func escaped(text string) string {
	var b strings.Builder
	open := 0
	for i := range len(text) {
		b.WriteByte(text[i])
		switch {
		case text[i] == '{':
			b.WriteByte('{')
			open++
		case text[i] == '}' && open > 0:
			b.WriteByte('}')
			open--
		}
	}
	return b.String()
}
