package gate

import (
	"path"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
	"divisi/subagents/gate/trace"
)

// maxSignature bounds one signature in bytes.
const maxSignature = 240

var (
	ansiCodes  = lazyregexp.New("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")
	colours    = lazyregexp.New("\x1b\\[[0-9;:]*m")
	tempPaths  = lazyregexp.New(`(?:/private)?(?:/tmp|/var/tmp|/var/folders)(?:/[^\s:;,'"()\[\]]*)?`)
	places     = lazyregexp.New(`(\.[A-Za-z][A-Za-z0-9]{0,7})(?::\d+(?:[:.]\d+)?|\(\d+(?:,\s*\d+)?\))`)
	timestamps = lazyregexp.New(`\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`)
	durations  = lazyregexp.New(`\b(?:\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|m|h))+\b|` +
		`\b\d+(?:\.\d+)? (?:milli|micro|nano)?seconds?\b`)
	uuids    = lazyregexp.New(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	decimals = lazyregexp.New(`\b\d+(?:\.\d+)+\b`)
	words    = lazyregexp.New(`[\pL\pM\pN_]+`)
	address  = lazyregexp.New(`^0[xX][0-9a-fA-F]+$`)
	digest   = lazyregexp.New(`^[0-9a-f]{7,}$`)
	digits   = lazyregexp.New(`^[0-9]+$`)
)

// siblings are paths that lead into another slot. Tools that work on file names, go vet above all, print them: under
// -trimpath their results are cached without the directory, so that a slot can get what was found in another.
var (
	slotName = lazyregexp.New(`^slot\d+$`)
	siblings = lazyregexp.New(`(?:/[^\s:;,'"()]*/|(?:\.\./)+(?:[^\s:;,'"()]*/)?)slot\d+/`)
)

// normaliser takes out of a line what differs between two runs of the same failure: places, numbers, durations, addresses
// and the directories of the slot.
type normaliser struct {
	roots *strings.Replacer
	// inSlot reports whether the tree is one of several slots.
	inSlot bool
}

// newNormaliser makes the paths below tree relative and hides the other directories.
func newNormaliser(tree string, private ...string) normaliser {
	var pairs []string
	for i, dir := range append([]string{tree}, private...) {
		dir = strings.TrimRight(dir, "/")
		if len(dir) < 2 {
			continue
		}
		with := "TMP"
		if i == 0 {
			with = "."
			pairs = append(pairs, dir+"/", "")
		}
		pairs = append(pairs, dir, with)
	}
	return normaliser{strings.NewReplacer(pairs...), slotName.MatchString(path.Base(strings.TrimRight(tree, "/")))}
}

// rooted makes the paths of a text relative to the tree.
func (n normaliser) rooted(from string) string {
	from = n.roots.Replace(plain(from))
	if n.inSlot {
		from = siblings.ReplaceAllLiteralString(from, "")
	}
	return from
}

// relative makes what names a failure relative to the tree.
func (n normaliser) relative(names trace.Names) trace.Names {
	out := trace.Names{Text: n.rooted(names.Text)}
	for _, owner := range names.Owners {
		out.Owners = append(out.Owners, n.rooted(owner))
	}
	return out
}

// line returns a line's signature form: bounded, valid UTF-8, single spaces; empty when nothing is left.
func (n normaliser) line(from string) string {
	from = n.rooted(text.Head(from, maxTextLine))
	from = tempPaths.ReplaceAllLiteralString(from, "TMP")
	from = places.ReplaceAllString(from, "$1")
	from = timestamps.ReplaceAllLiteralString(from, "T")
	from = durations.ReplaceAllLiteralString(from, "T")
	from = uuids.ReplaceAllLiteralString(from, "X")
	from = decimals.ReplaceAllLiteralString(from, "N")
	from = words.ReplaceAllStringFunc(from, normaliseWord)
	return text.Head(strings.Join(strings.Fields(from), " "), maxSignature)
}

// test returns a test's name without what differs from run to run, in one line.
func (n normaliser) test(name string) string {
	name = strings.Join(strings.Fields(n.rooted(name)), " ")
	if varying.MatchString(name) {
		return n.line(name)
	}
	return text.Head(name, maxSignature)
}

// varying reports cheaply whether line may remove something: most names of tests have none of it.
var varying = lazyregexp.New(`\b\d|/tmp|/var/|\b[0-9a-f]{7}`)

// normaliseWord keeps numbers that are part of a name: parseV1 and parseV2 are two failures.
func normaliseWord(word string) string {
	switch {
	case digits.MatchString(word):
		return "N"
	case address.MatchString(word), digest.MatchString(word) && strings.ContainsAny(word, "0123456789"):
		return "X"
	default:
		return word
	}
}

// colourless takes out colours, and no other terminal code: some of these hide the text between two of them.
func colourless(s string) string {
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = colours.ReplaceAllLiteralString(s, "")
	}
	return s
}

// plain takes out terminal codes and what is not text.
func plain(s string) string {
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = ansiCodes.ReplaceAllLiteralString(s, "")
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return -1
		}
		return r
	}, text.Valid(s))
}
