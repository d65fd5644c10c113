package loopguard

// The places of a character in a text.
const (
	atStart = iota // only blanks and quote marks before it in its line
	inLine
	inTable
	inCode
)

const (
	// minFence is how many backticks or tildes make a fence.
	minFence = 3
	// maxPending bounds, in characters, the beginning of a line that waits for what follows it.
	maxPending = 64
)

// prose passes on the characters of a Markdown text that stand outside of fenced code and tables. It sees one character at a
// time and inspects nothing but what came before.
type prose struct {
	place int
	// pending are the characters at the beginning of a line that go where the next one goes.
	pending [maxPending]rune
	waiting int
	// tick repeats ticks times so far: it may become a fence, or end one.
	tick  rune
	ticks int
	// The code ends at a run of fence times mark: at the beginning or the end of a line where it began so, anywhere where it did
	// not. Info says that the line of its beginning goes on; blank that the line has nothing but blanks and such a run, and then
	// perhaps one word, and a blank after it: that line begins a block within the code.
	mark        rune
	fence       int
	own, info   bool
	blank       bool
	word, after bool

	out []rune
}

// next takes a character and returns those that are known to be prose now, until the next call.
func (p *prose) next(r rune) []rune {
	p.out = p.out[:0]
	switch p.place {
	case atStart:
		p.start(r)
	case inTable:
		if r == '\n' {
			p.place = atStart
		}
	case inCode:
		p.code(r)
	default:
		p.line(r)
	}
	return p.out
}

// end ends the turn: what follows stands at the beginning of a line. What was pending is dropped.
func (p *prose) end() { *p = prose{out: p.out[:0]} }

func (p *prose) start(r rune) {
	switch {
	case p.ticks > 0:
		p.afterTicks(r)
	case p.waiting > 0 && p.pending[p.waiting-1] == '+' && (r == '-' || r == '='), rowStart(r):
		p.place, p.waiting = inTable, 0
	case p.waiting > 0 && p.pending[p.waiting-1] == '+':
		p.release()
		p.line(r)
	case r == '`' || r == '~':
		p.tick, p.ticks = r, 1
	case r == '\n':
		p.release()
		p.line(r)
	case isBlank(r) || r == '>' || r == '+':
		p.pending[p.waiting] = r
		if p.waiting++; p.waiting == maxPending {
			p.release()
		}
	default:
		p.release()
		p.line(r)
	}
}

// afterTicks takes a character at the beginning of a line after one or more that make a fence.
func (p *prose) afterTicks(r rune) {
	switch {
	case r == p.tick:
		p.ticks++
	case p.ticks >= minFence:
		p.waiting = 0
		p.open(true)
		p.code(r)
	default:
		tick := p.tick
		ticks := p.ticks
		p.ticks = 0
		p.release()
		for range ticks {
			p.line(tick)
		}
		p.line(r)
	}
}

// release passes on what was pending: the line is none of a table and none of a fence.
func (p *prose) release() {
	p.out = append(p.out, p.pending[:p.waiting]...)
	p.place, p.waiting = inLine, 0
}

func (p *prose) line(r rune) {
	if r == '`' {
		p.tick = r
		p.ticks++
		return
	}
	if p.ticks >= minFence {
		p.open(false)
		p.code(r)
		return
	}
	for ; p.ticks > 0; p.ticks-- {
		p.out = append(p.out, p.tick)
	}
	p.out = append(p.out, r)
	if r == '\n' {
		p.place = atStart
	}
}

// open begins code.
func (p *prose) open(own bool) {
	p.place, p.mark, p.fence, p.own, p.info, p.blank, p.ticks = inCode, p.tick, p.ticks, own, own, false, 0
}

func (p *prose) code(r rune) {
	if p.own && p.info && r == p.mark && r == '`' {
		p.own = false // ```such``` is code within a line
	}
	switch {
	case !p.own:
		p.span(r)
	case r == '\n' && !p.info && p.ticks >= p.fence && !p.word:
		p.place, p.ticks = atStart, 0
	case r == '\n':
		p.info, p.blank, p.ticks, p.word, p.after = false, true, 0, false, false
	case r == p.mark && !p.word:
		p.ticks++
	case !p.blank && !isBlank(r):
		p.ticks = 0
	case !p.blank:
	case p.ticks >= p.fence:
		p.behind(r)
	case !isBlank(r) && (r != '>' || p.ticks > 0), isBlank(r) && p.ticks > 0:
		p.blank, p.ticks = false, 0
	}
}

// behind takes a character behind a run that can end the code. It has ended where more follows than the language of a block.
func (p *prose) behind(r rune) {
	switch {
	case isBlank(r):
		p.after = p.word
	case isLanguage(r) && !p.after:
		p.word = true
	default:
		p.place, p.ticks, p.word, p.after = inLine, 0, false, false
		p.line(r)
	}
}

// isLanguage reports whether the name of a language has such a character, as it stands behind a fence.
func isLanguage(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '+' || r == '#' || r == '-' || r == '_'
}

// span is code for what began within a line.
func (p *prose) span(r rune) {
	switch {
	case r == p.mark:
		p.ticks++
	case p.ticks >= p.fence:
		p.place, p.ticks = inLine, 0
		p.line(r)
	default:
		p.ticks = 0
	}
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }

// rowStart reports whether a line that begins so is one of a table: a pipe, or a bar or corner of those that are drawn.
func rowStart(r rune) bool {
	switch r {
	case '|', '│', '┃', '║', '┌', '┏', '╔', '├', '┣', '╠', '└', '┗', '╚':
		return true
	}
	return false
}
