package compile

import (
	"google.golang.org/genai"

	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
)

// tail is the part of a request that is gone with it: text parts at the end of its last content.
type tail struct {
	// recalled is a part for each note, best first.
	recalled []*genai.Part
	// listed is a line for each artifact, newest first, unlisted how many more there are.
	listed   []string
	unlisted int
	loaded   []loadedPart
	// named is a part for each artifact that the instruction names.
	named    []*genai.Part
	reminder string
}

// loadedPart is a loaded artifact as it is written.
type loadedPart struct {
	handle string
	part   *genai.Part
	// cut says that the handle is all that is left of it.
	cut bool
}

const (
	recallText = "Notes from memory that may bear on what you are doing; check them before you rely on them:"
	listText   = "What load_artifact can show you, newest first:"
	loadedText = "What you asked load_artifact for. It is shown in this request only:"
)

// piece is a part of the tail with the processor that wrote it.
type piece struct {
	processor string
	part      *genai.Part
}

// pieces writes the tail. The fence is introduced by the first quote where nothing before it did.
func (t *tail) pieces(n *narrative.Narrator) []piece {
	var out []piece
	text := func(p processor, text string) { out = append(out, piece{p.Name(), &genai.Part{Text: text}}) }
	if quotes := len(t.recalled) + len(t.loaded) + len(t.named); quotes > 0 && n.Fenced && !n.Introduced {
		text(recall{}, narrative.Introduction)
	}
	if len(t.recalled) > 0 {
		text(recall{}, recallText)
	}
	for _, p := range t.recalled {
		out = append(out, piece{recall{}.Name(), p})
	}
	if list := t.list(); list != "" {
		text(artifacts{}, list)
	}
	if len(t.loaded) > 0 {
		text(artifacts{}, loadedText)
	}
	for _, l := range t.loaded {
		out = append(out, piece{artifacts{}.Name(), l.part})
	}
	for _, p := range t.named {
		out = append(out, piece{reminders{}.Name(), p})
	}
	if t.reminder != "" {
		text(reminders{}, t.reminder)
	}
	return out
}

func (t *tail) bytes(n *narrative.Narrator) int {
	bytes := 0
	for _, p := range t.pieces(n) {
		bytes += content.PartBytes(p.part)
	}
	return bytes
}
