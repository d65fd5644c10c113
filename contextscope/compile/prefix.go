package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// instruction writes the role's static text, with the values that are the same for the whole run in their places. Nothing
// volatile ever goes here: it heads the cached prefix. A value that changes stands at the end of the request, and the
// instruction says so.
func instruction(st *state) {
	role := &st.in.Role
	if role.Instruction == "" {
		st.trace(contextscope.Trace{What: "role " + role.Name + " has no instruction"})
		return
	}
	t := contextscope.Trace{What: "static text of role " + role.Name, Parts: 1}
	if role.Source != "" {
		t.What += " (" + role.Source + ")"
	}
	text, err := st.expand(role.Instruction)
	if err != nil {
		t.Notes = append(t.Notes, fmt.Sprintf("the text stands as it was written: %v", err))
		text, st.pointers = role.Instruction, nil
	}
	for _, name := range st.pointers {
		t.Notes = append(t.Notes, fmt.Sprintf("the value of %s changes: it is at the end of the request", name))
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

// changes reports whether a key is known to change from request to request.
func changes(name string) bool {
	return slices.ContainsFunc(spec.TemplateKeys(), func(k spec.TemplateValue) bool { return k.Name == name && !k.Stable })
}

// tools declares what the agent can call, sorted by name so that the order in which tools were set up never shows.
func tools(st *state) {
	var notes []string
	sorted := slices.DeleteFunc(slices.Clone(st.in.Tools), func(d *genai.FunctionDeclaration) bool { return d == nil })
	slices.SortStableFunc(sorted, func(a, b *genai.FunctionDeclaration) int { return strings.Compare(a.Name, b.Name) })
	sorted = slices.CompactFunc(sorted, func(a, b *genai.FunctionDeclaration) bool {
		if a.Name == b.Name {
			notes = append(notes, fmt.Sprintf("%s is declared twice: the first declaration holds", a.Name))
		}
		return a.Name == b.Name
	})
	if len(sorted) == 0 {
		st.trace(contextscope.Trace{What: "no tools"})
		return
	}
	st.req.Tools = []*genai.Tool{{FunctionDeclarations: sorted}}
	names, size := make([]string, len(sorted)), toolBytes(sorted)
	for i, d := range sorted {
		names[i] = d.Name
	}
	st.fixed += size
	st.trace(contextscope.Trace{
		What: strings.Join(names, ", "), Parts: len(sorted), Tokens: content.TokensOf(size), Notes: notes,
	})
}

// shared is sent byte for byte by all siblings of a role: its size, the digest by which it can be told from others, and the ids
// of the events that its parts tell of.
type shared struct {
	bytes  int
	digest string
	about  []string
}

// cache says where the stable parts of the request end: a provider can keep them.
func cache(st *state) {
	st.req.PrefixDigest = st.shared.digest
	st.req.PrefixTokens = st.ratio.of(st.shared.bytes)
	st.trace(contextscope.Trace{
		Parts: st.req.SharedParts, Tokens: content.TokensOf(st.shared.bytes),
		What: fmt.Sprintf("instruction, tools and %d parts of contents[0] are the same for all siblings (sha256 %.12s); "+
			"this agent's requests all begin with contents[:%d]", st.req.SharedParts, st.shared.digest, st.req.Prefix),
	})
}

// digestOf is the digest of texts one after the other.
func digestOf(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d\n%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}
