package loopguard

import (
	"encoding/binary"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// A ruler is a row of one character or of punctuation. Its first characters count, then some that do not, so that no ruler,
// frame or progress bar of usual length is a loop; what continues behind them is one.
const (
	rulerShown  = 40
	rulerFolded = 80
)

// blockTimes is how often a fenced block comes in a row until it is a loop.
const blockTimes = 20

// marked is set in characters that stand for something else than a code point.
const marked = 1 << 31

// stream is one of an agent's texts: what of it counts goes to its windows.
type stream struct {
	// carry holds the carried bytes of a character whose end has not come yet.
	carry   [utf8.UTFMax]byte
	carried int
	prose   prose
	windows windows
	// row counts the characters of the ruler that last belongs to; folded identifies those of it that do not count.
	last     rune
	ornament bool
	row      int
	folded   uint32
	// since is everything after the newest fenced block, block everything from the one before it to its end; blocks counts how
	// often in a row that was the same.
	since, block passage
	blocks       int
}

// passage identifies a piece of a text, code included.
type passage struct{ sum, n uint64 }

func (p *passage) add(c uint32) { p.sum, p.n = p.sum*hashBase+uint64(c)+1, p.n+1 }

// read takes a piece of the text, up to a loop. It returns how many bytes of it were taken.
func (s *stream) read(chunk string) (int, bool) {
	taken := 0
	for s.carried > 0 {
		if !utf8.FullRune(s.carry[:s.carried]) {
			if taken == len(chunk) {
				return taken, false
			}
			s.carry[s.carried] = chunk[taken]
			s.carried++
			taken++
			continue
		}
		r, size := utf8.DecodeRune(s.carry[:s.carried])
		s.carried = copy(s.carry[:], s.carry[size:s.carried])
		if s.take(r) {
			back := min(s.carried, taken) // of broken characters: they are read again
			s.carried -= back
			return taken - back, true
		}
	}
	n, found := s.scan(chunk[taken:])
	return taken + n, found
}

func (s *stream) scan(chunk string) (int, bool) {
	for i := 0; i < len(chunk); {
		r, size := rune(chunk[i]), 1
		if r >= utf8.RuneSelf {
			if !utf8.FullRuneInString(chunk[i:]) {
				s.carried = copy(s.carry[:], chunk[i:])
				return len(chunk), false
			}
			r, size = utf8.DecodeRuneInString(chunk[i:])
		}
		i += size
		if s.take(r) {
			return i, true
		}
	}
	return len(chunk), false
}

// take takes a character and reports whether it completes a loop.
func (s *stream) take(r rune) bool {
	s.since.add(uint32(r))
	if s.prose.place == inLine && s.prose.ticks == 0 && r != '`' && r != '\n' {
		return s.count(r)
	}
	code := s.prose.place == inCode
	for _, r := range s.prose.next(r) {
		if s.count(r) {
			return true // the rest of the blanks that were held is no loss
		}
	}
	return code && s.prose.place != inCode && s.endBlock()
}

// endBlock counts a fenced block, and says whether it came too often. What is said between the blocks counts with them: the same
// output behind different words is no loop.
func (s *stream) endBlock() bool {
	if s.since == s.block {
		s.blocks++
	} else {
		s.blocks = 1
	}
	s.block, s.since = s.since, passage{}
	return s.blocks >= blockTimes
}

// clear forgets what was said.
func (s *stream) clear() {
	s.windows.clear()
	s.blocks = 0
}

// repetition names the loop that the newest character completed.
func (s *stream) repetition() string {
	if s.blocks >= blockTimes {
		return fmt.Sprintf("the same fenced block %d times in a row", s.blocks)
	}
	return s.windows.repetition()
}

// count gives a character of prose to the windows, unless it is of the middle of a ruler.
func (s *stream) count(r rune) bool {
	ornament := isOrnament(r)
	if r == s.last || ornament && s.ornament {
		s.row++
	} else {
		s.endRow()
		s.row = 1
	}
	s.last, s.ornament = r, ornament
	switch {
	case s.row <= rulerShown:
	case s.row <= rulerFolded:
		s.folded = s.folded*31 + uint32(r)
		return false
	case s.row == rulerFolded+1:
		s.windows.add(s.folded | marked)
		s.folded = 0
	}
	return s.windows.add(uint32(r))
}

// endRow lets one character stand for those of a ruler that did not count, so that rulers of two lengths stay two.
func (s *stream) endRow() {
	if s.row > rulerShown && s.row <= rulerFolded {
		s.windows.add(s.folded | marked)
	}
	s.row, s.folded = 0, 0
}

// mark puts something into the text that is not said, and ends a fence and half a line. No loop is reported there.
func (s *stream) mark(d digest) {
	s.end()
	s.windows.add(binary.LittleEndian.Uint32(d[:]) | marked)
	s.since.add(binary.LittleEndian.Uint32(d[:]) | marked)
}

func (s *stream) clone() stream {
	c := *s
	c.windows, c.prose.out = s.windows.clone(), nil
	return c
}

// end ends the text before what follows: an unclosed fence, half a line, and half a character, which is dropped.
func (s *stream) end() {
	s.carried = 0
	s.prose.end()
	s.endRow()
	s.last, s.ornament = 0, false
}

// isOrnament reports whether a character is neither of a word or number nor the end of a line.
func isOrnament(r rune) bool {
	if r < utf8.RuneSelf {
		return r != '\n' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}
