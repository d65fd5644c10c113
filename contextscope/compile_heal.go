package contextscope

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/genai"
)

// likeADK gives the items ADK's shape.
func (p *pairing) likeADK(items []item) []item {
	for _, it := range items {
		for n, part := range it.content.Parts {
			if hollow(part) {
				p.notef(it.src, "parts[%d] is empty", n)
			}
		}
	}
	placed := p.latest(p.dropOrphans(items))
	placed = p.moves(placed, p.history(placed))
	p.doubled(placed)
	return p.answerAll(placed)
}

// reused notes the calls whose id an earlier call has.
func (p *pairing) reused(items []item) {
	first := map[string]int{}
	for _, it := range items {
		eachCall(it.content, func(fc *genai.FunctionCall) {
			src, used := first[fc.ID]
			switch {
			case fc.ID == "":
			case used:
				p.notef(it.src, "call %q has the id of a call in event %d: a result belongs to the nearest call before it",
					fc.ID, src)
			default:
				first[fc.ID] = it.src
			}
		})
	}
}

// moves notes the results that came late, and those that gave way to later ones. It returns what history made of the items.
func (p *pairing) moves(items, placed []item) []item {
	there := map[int]bool{}
	for i, next := len(placed)-1, math.MaxInt; i >= 0; i-- {
		it := placed[i]
		there[it.src] = true
		for _, src := range it.merged {
			there[src] = true
		}
		if it.src > next && hasResponses(it.content) {
			p.notef(it.src, "came late: its results were put right after their calls")
		}
		next = min(next, it.src)
	}
	for _, it := range items {
		if hasResponses(it.content) && !there[it.src] {
			p.notef(it.src, "was left out: later results of the same calls replace it")
		}
	}
	return placed
}

// doubled notes the calls that one content answers more than once.
func (p *pairing) doubled(items []item) {
	for i, it := range items {
		if i == 0 || !hasResponses(it.content) {
			continue
		}
		left := map[callKey]int{}
		eachCall(items[i-1].content, func(fc *genai.FunctionCall) { left[callKeyOf(fc)]++ })
		eachResponse(it.content, func(fr *genai.FunctionResponse) {
			k := responseKeyOf(fr)
			if left[k]--; left[k] < 0 {
				p.notef(it.src, "%s has more than one result", k)
			}
		})
	}
}

// garbled says which events of a session hold text that is no Unicode: reading JSON puts U+FFFD in its place.
func garbled(data []byte) (t Trace, found bool) {
	if !notUnicode(data) {
		return t, false
	}
	t = Trace{Processor: "read", What: "U+FFFD stands for text that is no Unicode"}
	var file struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(data, &file); err == nil { // it was read before, with more demands
		for i, e := range file.Events {
			if notUnicode(e) {
				t.Notes = append(t.Notes, fmt.Sprintf("event %d: text that is no Unicode was replaced by U+FFFD", i))
			}
		}
	}
	return t, true
}

// notUnicode says whether well-formed JSON holds bytes that are no UTF-8, or the escape of half a surrogate pair.
func notUnicode(data []byte) bool {
	if !utf8.Valid(data) {
		return true
	}
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++
		r := escaped(data, i)
		if !utf16.IsSurrogate(r) {
			continue
		}
		if utf16.DecodeRune(r, escaped(data, i+6)) == utf8.RuneError || data[i+5] != '\\' {
			return true
		}
		i += 6
	}
	return false
}

// escaped is the code unit of an escape such as u00e9 at a place; -1 where there is none.
func escaped(data []byte, at int) rune {
	if at+5 > len(data) || data[at] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(data[at+1:at+5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
