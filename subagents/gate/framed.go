package gate

import (
	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

var (
	// A finding of ruff, and the line with its place below it.
	framedHead  = lazyregexp.New(`^([A-Z]{1,4}\d{2,5}|invalid-syntax)(?::| \[\*\])? (.+)$`)
	framedPlace = lazyregexp.New(`^\s*--> (\S.*):(\d+):(\d+)$`)
)

// framed reads findings that have their places below them.
type framed struct{ code, message string }

func (p *textParser) frame(line string) {
	if m := framedPlace.FindStringSubmatch(line); m != nil && p.framed.message != "" {
		f := spec.Finding{
			Code: p.framed.code, Message: p.framed.message, File: p.names.rooted(m[1]), Line: number(m[2]), Column: number(m[3]),
		}
		p.found.show(f.String())
		p.found.tell(p.names, f)
		if f.Code == "invalid-syntax" {
			p.found.hide(f.File)
		}
	}
	p.framed = framed{}
	if m := framedHead.FindStringSubmatch(line); m != nil {
		p.framed = framed{m[1], p.names.rooted(m[2])}
	}
}
