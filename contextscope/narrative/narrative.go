package narrative

import (
	"cmp"
	"strings"
	"unicode"

	"divisi/contextscope/content"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// The styles of the narrative.
const (
	Plain  = "plain"  // the sentences that Google's ADK publishes, unquoted
	Fenced = "fenced" // the same, quoted between markers that the text cannot forge; the default
)

// plainPreamble opens every narrated event of the plain style.
const plainPreamble = "For context:"

// Narrator reports what another agent did as background in the user role: a model must never take another agent's turns
// for its own. It serves one request and knows whether the fence has been introduced in it.
type Narrator struct {
	Fenced     bool
	Introduced bool
}

// New makes the narrator of one request.
func New(style string) *Narrator { return &Narrator{Fenced: style != Plain} }

// Content narrates one event as one user content: the preamble, then a part for each part that says something.
// It is nil when nothing is left to say.
func (n *Narrator) Content(author string, c *genai.Content) *genai.Content {
	told := n.Parts(author, c)
	if len(told) == 0 {
		return nil
	}
	parts := make([]*genai.Part, 0, len(told)+1)
	parts = append(parts, n.Preamble())
	return &genai.Content{Role: genai.RoleUser, Parts: append(parts, told...)}
}

// Preamble opens a narrated piece. The fence is introduced by the first one only.
func (n *Narrator) Preamble() *genai.Part {
	if !n.Fenced || n.Introduced {
		return &genai.Part{Text: plainPreamble}
	}
	n.Introduced = true
	return &genai.Part{Text: Introduction}
}

// Parts narrates the parts of one event, in order. Thoughts are dropped, also those that carry a call; so is blank text,
// and whatever only its own author's model can read.
func (n *Narrator) Parts(author string, c *genai.Content) []*genai.Part {
	if c == nil {
		return nil
	}
	var told []*genai.Part
	for _, p := range c.Parts {
		if p == nil || p.Thought {
			continue
		}
		if t := n.part(author, p); t != nil {
			told = append(told, t)
		}
	}
	return told
}

func (n *Narrator) part(author string, p *genai.Part) *genai.Part {
	switch {
	case !blank(p.Text):
		return n.sentence("["+n.Name(author)+"] said:", p.Text)
	case p.FunctionCall != nil:
		head := "[" + n.Name(author) + "] called tool `" + n.Name(p.FunctionCall.Name) + "` with parameters:"
		return n.sentence(head, spec.JSONText(p.FunctionCall.Args))
	case p.FunctionResponse != nil:
		head := "[" + n.Name(author) + "] `" + n.Name(p.FunctionResponse.Name) + "` tool returned result:"
		return n.sentence(head, spec.JSONText(p.FunctionResponse.Response))
	case p.InlineData != nil || p.FileData != nil || p.ExecutableCode != nil || p.CodeExecutionResult != nil:
		if n.Fenced { // as words: nothing of another agent stands outside the quotes
			head, body := content.PartText(p)
			return n.sentence("["+n.Name(author)+"] "+cmp.Or(head, "gave:"), body)
		}
		return content.Unsigned(p)
	default:
		return nil
	}
}

func (n *Narrator) sentence(head, body string) *genai.Part {
	if n.Fenced {
		return &genai.Part{Text: head + "\n" + Quote(body)}
	}
	return &genai.Part{Text: head + " " + body}
}

// Name writes a name into a sentence. The fenced style lets none say more than a name can: models invent names of tools,
// and a name stands outside the quote.
func (n *Narrator) Name(name string) string {
	if !n.Fenced {
		return name
	}
	return Name(name)
}

// blank reports whether text has nothing but white space, as Python's str.strip sees it: ADK's rule, and wider than Go's.
func blank(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }) == ""
}

// Quoted writes data under a title.
func (n *Narrator) Quoted(title, text string) *genai.Part {
	if n.Fenced {
		return &genai.Part{Text: title + ":\n" + Quote(text)}
	}
	return &genai.Part{Text: title + ":\n" + text}
}

// Named writes data under a title with a foreign name in it.
func (n *Narrator) Named(before, name, text string) *genai.Part {
	if n.Fenced {
		return &genai.Part{Text: Named(before, name, "", text)}
	}
	return n.Quoted(before+name, text)
}
