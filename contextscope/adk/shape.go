package adk

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/pairing"

	"google.golang.org/genai"
)

// likeADK gives the items ADK's shape.
func likeADK(p *pairing.Pairing, items []pairing.Item) []pairing.Item {
	for _, it := range items {
		for n, part := range it.Content.Parts {
			if content.IsEmptyPart(part) {
				p.Notef(it.Src, "parts[%d] is empty", n)
			}
		}
	}
	placed := latest(p, p.DropOrphans(items))
	placed = moves(p, placed, p.History(placed))
	doubled(p, placed)
	return answerAll(p, placed)
}

// reused notes the calls whose id an earlier call has.
func reused(p *pairing.Pairing, items []pairing.Item) {
	first := map[string]int{}
	for _, it := range items {
		content.EachCall(it.Content, func(fc *genai.FunctionCall) {
			src, used := first[fc.ID]
			switch {
			case fc.ID == "":
			case used:
				p.Notef(it.Src, "call %q has the id of a call in event %d: a result belongs to the nearest call before it",
					fc.ID, src)
			default:
				first[fc.ID] = it.Src
			}
		})
	}
}

// moves notes the results that came late, and those that gave way to later ones. It returns what history made of the items.
func moves(p *pairing.Pairing, items, placed []pairing.Item) []pairing.Item {
	there := map[int]bool{}
	for i, next := len(placed)-1, math.MaxInt; i >= 0; i-- {
		it := placed[i]
		there[it.Src] = true
		for _, src := range it.Merged {
			there[src] = true
		}
		if it.Src > next && content.HasResponses(it.Content) {
			p.Notef(it.Src, "came late: its results were put right after their calls")
		}
		next = min(next, it.Src)
	}
	for _, it := range items {
		if content.HasResponses(it.Content) && !there[it.Src] {
			p.Notef(it.Src, "was left out: later results of the same calls replace it")
		}
	}
	return placed
}

// doubled notes the calls that one content answers more than once.
func doubled(p *pairing.Pairing, items []pairing.Item) {
	for i, it := range items {
		if i == 0 || !content.HasResponses(it.Content) {
			continue
		}
		left := map[content.Key]int{}
		content.EachCall(items[i-1].Content, func(fc *genai.FunctionCall) { left[content.CallKey(fc)]++ })
		content.EachResponse(it.Content, func(fr *genai.FunctionResponse) {
			k := content.ResponseKey(fr)
			if left[k]--; left[k] < 0 {
				p.Notef(it.Src, "%s has more than one result", k)
			}
		})
	}
}

// garbled reports which events of a session hold text that is no Unicode: reading JSON puts U+FFFD in its place.
func garbled(data []byte) (t contextscope.Trace, found bool) {
	if !notUnicode(data) {
		return t, false
	}
	t = contextscope.Trace{Processor: "read", What: "U+FFFD replaces invalid Unicode"}
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

// notUnicode reports whether well-formed JSON holds bytes that are no UTF-8, or the escape of half a surrogate pair.
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
