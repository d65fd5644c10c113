package compile

import (
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// instruction writes the role's static text, with the values that are the same for the whole run in their places. Nothing
// volatile ever goes here: it heads the cached prefix. A value that changes stands at the end of the request, and the
// instruction says so.
type instruction struct{}

// Name implements processor.
func (instruction) Name() string { return "instruction" }

// Process implements processor.
func (p instruction) Process(st *state) {
	role := &st.in.Role
	if role.Instruction == "" {
		st.trace(contextscope.Trace{Processor: p.Name(), What: "role " + role.Name + " has no instruction"})
		return
	}
	t := contextscope.Trace{Processor: p.Name(), What: "static text of role " + role.Name, Parts: 1}
	if role.Source != "" {
		t.What += " (" + role.Source + ")"
	}
	text, err := st.expand(role.Instruction)
	if err != nil {
		t.Notes = append(t.Notes, fmt.Sprintf("the text stands as it was written: %v", err))
		text, st.pointers = role.Instruction, nil
	}
	for _, name := range st.pointers {
		t.Notes = append(t.Notes, fmt.Sprintf("the value of %s changes: it stands at the end of the request", name))
	}
	st.req.System = genai.NewContentFromText(text, genai.RoleUser)
	st.fixed += len(text)
	t.Tokens = content.Tokens(st.req.System)
	st.trace(t)
}

// expand puts the stable values into an instruction, and pointers in the place of the others.
func (st *state) expand(text string) (string, error) {
	// Unknown keys are the problem of who loads the role; here they are errors of the expansion.
	template, _ := spec.ParseTemplate(text)
	return template.Expand(func(key spec.TemplateKey) (string, error) {
		name := valueName(key)
		v, given := valueOf(st.in.Values, name)
		switch {
		case given && v.Stable:
			return v.Text, nil
		case given || changes(name):
			if !slices.Contains(st.pointers, name) {
				st.pointers = append(st.pointers, name)
			}
			return "[" + name + ": see the end of this request]", nil
		default:
			return "", spec.ErrNoValue
		}
	})
}

// artifactPrefix begins the name of a value that is an artifact's text.
const artifactPrefix = "artifact."

// valueName is the name of the value that a key asks for.
func valueName(key spec.TemplateKey) string {
	if key.Artifact {
		return artifactPrefix + key.Name
	}
	return key.Name
}

func valueOf(values []Value, name string) (Value, bool) {
	i := slices.IndexFunc(values, func(v Value) bool { return v.Name == name })
	if i < 0 {
		return Value{}, false
	}
	return values[i], true
}

// changes says whether a key is known to change from request to request.
func changes(name string) bool {
	return slices.ContainsFunc(spec.TemplateKeys(), func(k spec.TemplateValue) bool { return k.Name == name && !k.Stable })
}
