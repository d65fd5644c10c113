package contextscope

import (
	"cmp"
	"strings"
	"unicode"

	"google.golang.org/genai"
)

// The styles of the narrative.
const (
	NarrativePlain  = "plain"  // the sentences that Google's ADK publishes, unquoted
	NarrativeFenced = "fenced" // the same, quoted between markers that the text cannot forge; the default
)

// plainPreamble opens every narrated event of the plain style.
const plainPreamble = "For context:"

// narrator tells what another agent did as background in the user role: a model must never take another agent's turns
// for its own. It serves one request and knows whether the fence has been introduced in it.
type narrator struct {
	fenced     bool
	introduced bool
}

func newNarrator(style string) *narrator { return &narrator{fenced: style != NarrativePlain} }

// content narrates one event as one user content: the preamble, then a part for each part that says something.
// It is nil when nothing is left to say.
func (n *narrator) content(author string, c *genai.Content) *genai.Content {
	told := n.parts(author, c)
	if len(told) == 0 {
		return nil
	}
	parts := make([]*genai.Part, 0, len(told)+1)
	parts = append(parts, n.preamble())
	return &genai.Content{Role: genai.RoleUser, Parts: append(parts, told...)}
}

// preamble opens a narrated piece. The fence is introduced by the first one only.
func (n *narrator) preamble() *genai.Part {
	if !n.fenced || n.introduced {
		return &genai.Part{Text: plainPreamble}
	}
	n.introduced = true
	return &genai.Part{Text: fenceIntroduction}
}

// parts narrates the parts of one event, in order. Thoughts are dropped, also those that carry a call; so is blank text,
// and whatever only its own author's model can read.
func (n *narrator) parts(author string, c *genai.Content) []*genai.Part {
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

func (n *narrator) part(author string, p *genai.Part) *genai.Part {
	switch {
	case !blank(p.Text):
		return n.sentence("["+n.name(author)+"] said:", p.Text)
	case p.FunctionCall != nil:
		head := "[" + n.name(author) + "] called tool `" + n.name(p.FunctionCall.Name) + "` with parameters:"
		return n.sentence(head, compactJSON(p.FunctionCall.Args))
	case p.FunctionResponse != nil:
		head := "[" + n.name(author) + "] `" + n.name(p.FunctionResponse.Name) + "` tool returned result:"
		return n.sentence(head, compactJSON(p.FunctionResponse.Response))
	case p.InlineData != nil || p.FileData != nil || p.ExecutableCode != nil || p.CodeExecutionResult != nil:
		if n.fenced { // as words: nothing of another agent stands outside the quotes
			head, body := partText(p)
			return n.sentence("["+n.name(author)+"] "+cmp.Or(head, "gave:"), body)
		}
		return relayed(p)
	default:
		return nil
	}
}

func (n *narrator) sentence(head, text string) *genai.Part {
	if n.fenced {
		return &genai.Part{Text: head + "\n" + quote(text)}
	}
	return &genai.Part{Text: head + " " + text}
}

// name writes a name into a sentence. The fenced style lets none say more than a name can: models invent names of tools,
// and a name stands outside the quote.
func (n *narrator) name(name string) string {
	if !n.fenced {
		return name
	}
	const most = 120
	name = strings.ReplaceAll(elideName(name), "`", "'")
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

// relayed passes a part on that cannot be told in words. A signature is worth nothing to another model and never travels.
func relayed(p *genai.Part) *genai.Part {
	if len(p.ThoughtSignature) == 0 {
		return p
	}
	bare := *p
	bare.ThoughtSignature = nil
	return &bare
}

// blank says whether text has nothing but white space, as Python's str.strip sees it: ADK's rule, and wider than Go's.
func blank(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }) == ""
}
