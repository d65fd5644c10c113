package pairing

import (
	"slices"
	"strconv"

	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// Item is one event on its way into a request. Steps replace items and contents; they never write into them.
type Item struct {
	Author  string
	Branch  string
	Content *genai.Content
	// Src is the event's place in the session; -1 for a content that no event holds.
	Src int
	// Told reports that the content is a narrative of another agent's event.
	Told bool
	// Merged are the places of further events that the content was merged from.
	Merged []int
}

// User is the author of what a person, or the conductor in a person's place, says.
const User = "user"

// TurnStart finds where the current turn begins, for the scope `none`: the newest item that starts may begin a turn at,
// walking back past every result that posted counts and whose call has not been met yet. It is -1 when there is none.
func TurnStart(items []Item, calls map[string]bool, starts func(Item) bool, posted func(Item) bool) int {
	open := map[string]bool{}
	for i := len(items) - 1; i >= 0; i-- {
		it := items[i]
		content.EachCall(it.Content, func(fc *genai.FunctionCall) { delete(open, fc.ID) })
		result := posted(it)
		if result {
			content.EachResponse(it.Content, func(fr *genai.FunctionResponse) {
				if calls[fr.ID] {
					open[fr.ID] = true
				}
			})
		}
		if len(open) == 0 && !result && starts(it) {
			return i
		}
	}
	return -1
}

// CallIDs returns the ids of all calls.
func CallIDs(items []Item) map[string]bool {
	ids := map[string]bool{}
	for _, it := range items {
		content.EachCall(it.Content, func(fc *genai.FunctionCall) {
			if fc.ID != "" {
				ids[fc.ID] = true
			}
		})
	}
	return ids
}

// Events are the places of the events that the item was made of.
func (it Item) Events() []string {
	var places []string
	for _, src := range slices.Concat([]int{it.Src}, it.Merged) {
		if src >= 0 {
			places = append(places, strconv.Itoa(src))
		}
	}
	return places
}
