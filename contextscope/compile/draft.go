package compile

import (
	"google.golang.org/genai"

	"divisi/contextscope/content"
)

// draft is the contents of a request in the making. The model's interface wants roles to alternate and user to begin.
type draft struct {
	contents []*genai.Content
	// own says that the last content was made here and may grow; others belong to events.
	own bool
	// bytes and parts are the size of it all, kept running.
	bytes int
	parts int
}

// add appends a content. Neighbours of one role are joined: their parts stay as they are, side by side.
func (d *draft) add(c *genai.Content) {
	if len(d.contents) == 0 && c.Role != genai.RoleUser {
		d.push(genai.NewContentFromText(content.Opening, genai.RoleUser))
	}
	n := len(d.contents)
	if n == 0 || d.contents[n-1].Role != c.Role {
		d.push(c)
		return
	}
	if !d.own {
		last := d.contents[n-1]
		parts := make([]*genai.Part, 0, len(last.Parts)+2*len(c.Parts))
		d.contents[n-1] = &genai.Content{Role: last.Role, Parts: append(parts, last.Parts...)}
		d.own = true
	}
	last := d.contents[n-1]
	last.Parts = append(last.Parts, c.Parts...)
	d.count(c, 1)
}

func (d *draft) push(c *genai.Content) {
	d.contents, d.own = append(d.contents, c), false
	d.count(c, 1)
}

// replace puts another content in a place.
func (d *draft) replace(i int, c *genai.Content) {
	d.count(d.contents[i], -1)
	d.contents[i] = c
	d.count(c, 1)
}

func (d *draft) count(c *genai.Content, sign int) {
	d.bytes += sign * content.Bytes(c.Parts)
	d.parts += sign * len(c.Parts)
}
