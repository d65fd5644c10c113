package compaction

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxSnapshot bounds a model's snapshot, in bytes; maxStored what code has added its facts to.
	maxSnapshot = 64 << 10
	maxStored   = 1 << 20
)

var (
	snapshotOpen  = regexp.MustCompile(`<` + elemSnapshot + `\s*>`)
	snapshotClose = regexp.MustCompile(`</` + elemSnapshot + `\s*>`)
	claimedFacts  = regexp.MustCompile(`(?s)<` + elemPinned + `\s*>.*?</` + elemPinned + `\s*>`)
)

// ParseSnapshot reads a snapshot from a model's answer: what stands around the one element is dropped, and so are facts that
// pretend to be pinned. Characters that XML wants escaped are forgiven where they can mean one thing only. The error says
// what to fix.
func ParseSnapshot(answer string) (Snapshot, error) {
	answer = plainText(answer)
	ends := snapshotClose.FindAllStringIndex(answer, -1)
	switch {
	case len(ends) == 0:
		return Snapshot{}, errors.New("there is no whole <state_snapshot> element in the answer")
	case len(ends) > 1:
		return Snapshot{}, errors.New("there is more than one end of <state_snapshot>: write it once")
	}
	// Thoughts before the document may name the element: the last beginning is the one that counts.
	starts := snapshotOpen.FindAllStringIndex(answer[:ends[0][0]], -1)
	if len(starts) == 0 {
		return Snapshot{}, errors.New("<state_snapshot> is not opened before it ends")
	}
	element := answer[starts[len(starts)-1][0]:ends[0][1]]
	if len(element) > maxSnapshot {
		return Snapshot{}, fmt.Errorf("the snapshot has %d bytes; at most %d are taken", len(element), maxSnapshot)
	}
	return readSnapshot(forgive(claimedFacts.ReplaceAllLiteralString(element, "")))
}

// ReadSnapshot reads a snapshot that Render wrote, pinned facts included.
func ReadSnapshot(stored string) (Snapshot, error) {
	if len(stored) > maxStored {
		return Snapshot{}, fmt.Errorf("the stored snapshot has %d bytes; at most %d are read", len(stored), maxStored)
	}
	return readSnapshot(stored)
}

var (
	// markup is what a model's snapshot may hold of XML, beside character data: its own tags and entities. Everything else
	// that begins like markup is text.
	markup = regexp.MustCompile(`</?(?:` + strings.Join(slices.Concat([]string{elemSnapshot, elemStep}, snapshotParts), "|") +
		`)(?:\s[^<>]*)?>|&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});`)
	strays = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
)

// The bounds of character data, which models use for code.
const (
	dataBegin = "<![CDATA["
	dataEnd   = "]]>"
)

// forgive escapes what models forget to escape: code is full of & and <. Only what cannot be markup of a snapshot is touched.
func forgive(element string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(element, dataBegin)
		data, after, ended := strings.Cut(rest, dataEnd)
		if !found || !ended {
			escapeStrays(&b, element)
			return b.String()
		}
		escapeStrays(&b, before)
		b.WriteString(dataBegin + data + dataEnd)
		element = after
	}
}

func escapeStrays(b *strings.Builder, text string) {
	at := 0
	for _, m := range markup.FindAllStringIndex(text, -1) {
		b.WriteString(strays.Replace(text[at:m[0]]) + text[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(strays.Replace(text[at:]))
}

func readSnapshot(document string) (Snapshot, error) {
	r := &snapshotReader{seen: map[string]bool{}}
	dec := xml.NewDecoder(strings.NewReader(document))
	for {
		token, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return r.snapshot, errors.Join(r.stray(), r.missing())
		case err != nil:
			return Snapshot{}, fmt.Errorf("the snapshot is no XML: %w", err)
		}
		if err := r.take(token); err != nil {
			return Snapshot{}, err
		}
	}
}

// snapshotReader follows the elements of a snapshot.
type snapshotReader struct {
	snapshot Snapshot
	path     []string
	text     strings.Builder
	seen     map[string]bool
	status   string
}

func (r *snapshotReader) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return r.open(t)
	case xml.EndElement:
		return r.close()
	case xml.CharData:
		r.text.Write(t)
		return nil
	default:
		return errors.New("the snapshot holds a comment or a directive: only elements and text may stand in it")
	}
}

func (r *snapshotReader) open(e xml.StartElement) error {
	name := e.Name.Local
	if e.Name.Space != "" {
		name = e.Name.Space + ":" + name
	}
	stray := r.stray()
	r.path = append(r.path, name)
	where := strings.Join(r.path, "/")
	switch {
	case !fits(r.path):
		return fmt.Errorf("element %s has no place there: escape < as &lt; in text", where)
	case stray != nil:
		return stray
	case len(r.path) == 2 && r.seen[name], len(r.path) == 1 && len(r.seen) > 0:
		return fmt.Errorf("element %s stands there twice", where)
	case name == elemStep:
		return r.step(e.Attr)
	case len(e.Attr) > 0:
		return fmt.Errorf("element %s has an attribute; only <step> has one", where)
	}
	r.seen[name] = true
	return nil
}

// fits reports whether an element belongs where it stands.
func fits(path []string) bool {
	name := path[len(path)-1]
	switch len(path) {
	case 1:
		return name == elemSnapshot
	case 2:
		return name == elemPinned || slices.Contains(snapshotParts, name)
	case 3:
		return path[1] == elemPlan && name == elemStep || path[1] == elemPinned && slices.Contains(factKinds, name)
	default:
		return false
	}
}

func (r *snapshotReader) step(attributes []xml.Attr) error {
	if len(attributes) != 1 || attributes[0].Name.Local != attributeStatus || !slices.Contains(stepStates, attributes[0].Value) {
		return fmt.Errorf("a <step> has exactly one attribute, status: one of %s", strings.Join(stepStates, ", "))
	}
	r.status = attributes[0].Value
	return nil
}

// stray refuses text between elements.
func (r *snapshotReader) stray() error {
	if text := strings.TrimSpace(r.text.String()); text != "" {
		return fmt.Errorf("text stands outside of the parts, in %s: %.80q", strings.Join(r.path, "/"), text)
	}
	r.text.Reset()
	return nil
}

func (r *snapshotReader) close() error {
	depth := len(r.path)
	name := r.path[depth-1]
	defer func() { r.path = r.path[:depth-1] }()
	text := r.snapshot.text(name)
	switch {
	case name == elemStep:
		return r.addStep()
	case depth == 3:
		r.snapshot.Pinned = append(r.snapshot.Pinned, Fact{Kind: name, Text: r.taken()})
	case text != nil:
		*text = r.taken()
	default:
		return r.stray()
	}
	return nil
}

func (r *snapshotReader) addStep() error {
	step := Step{Status: r.status, Text: r.taken()}
	if step.Text == "" {
		return errors.New("a <step> says nothing")
	}
	r.snapshot.CurrentPlan = append(r.snapshot.CurrentPlan, step)
	return nil
}

func (r *snapshotReader) taken() string {
	defer r.text.Reset()
	return plainText(r.text.String())
}

func (r *snapshotReader) missing() error {
	var missing []string
	for _, part := range snapshotParts {
		if !r.seen[part] {
			missing = append(missing, "<"+part+">")
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("parts are missing: %s", strings.Join(missing, ", "))
	}
	return nil
}
