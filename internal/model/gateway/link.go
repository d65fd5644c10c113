package gateway

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// links are parts of a conversation whose tokens its bytes do not bound: what the service adds of its own, images, documents and
// sound; and letters that are written as numbers, which could hide one.
var links = lazyregexp.New(`(?i)"(previous_?response_?id|file_?(id|ur[il]|data)|cached_?content|image_?url|` +
	`inline_?data|input_?audio)"\s*:\s*["{]|"type"\s*:\s*"(url|base64|file|input_(image|file|audio)|image_gen|` +
	`container_|web_|file_search|code_|mcp_|server_)|\\u00[4-7]`)

// known is what a request may have whose tokens are bounded by its bytes: fields, types of tools, or fields of them, and types of
// what it continues. All else may enlarge its prompt. rounds is how often the service asks its model at most for one call whose
// tools it runs itself.
type known struct {
	fields, tools, items []string
	rounds               int
}

var ofAnthropic = known{
	fields: strings.Fields(`model maxtokens messages system tools toolchoice metadata stopsequences stream temperature topp topk
		thinking servicetier contextmanagement outputconfig outputformat speed`),
	tools: []string{"", "custom"}, rounds: 10,
}

var ofOpenAI = known{
	fields: strings.Fields(`model input instructions maxoutputtokens maxcompletiontokens maxtokens messages stream streamoptions
		store include metadata n temperature topp toplogprobs logprobs logitbias tools toolchoice paralleltoolcalls functions
		functioncall text reasoning reasoningeffort verbosity responseformat stop seed user safetyidentifier promptcachekey
		promptcacheretention servicetier truncation presencepenalty frequencypenalty clientmetadata`),
	tools: []string{"function", "custom", "local_shell", "apply_patch"},
	items: strings.Fields(`message function_call function_call_output custom_tool_call custom_tool_call_output local_shell_call
		local_shell_call_output apply_patch_call apply_patch_call_output`),
	rounds: 128,
}

var ofGemini = known{
	fields: strings.Fields(`model contents systeminstruction tools toolconfig safetysettings generationconfig labels
		servicetier`),
	tools: []string{"functiondeclarations"}, rounds: 10,
}

// weigh notes how many windows of its model a call may take because of what is not known.
func (c *call) weigh(r request, k *known) {
	for _, field := range slices.Sorted(maps.Keys(r)) {
		if !slices.Contains(k.fields, field) && string(r[field]) != "null" {
			c.take(1, field)
		}
	}
	for _, t := range listOf(r["tools"]) {
		kinds := []string{get[string](t, "type", new(bool))}
		if k.items == nil && len(t) > 0 && t["name"] == nil && t["type"] == nil { // each of its fields is a tool
			kinds = slices.Sorted(maps.Keys(t))
		}
		for _, kind := range kinds {
			if !slices.Contains(k.tools, kind) {
				c.take(k.rounds, "tools: "+kind)
			}
		}
	}
	for _, item := range listOf(r["input"]) {
		kind := get[string](item, "type", new(bool))
		whole := slices.Contains(k.items, kind) || kind == "" && item["role"] != nil ||
			kind == "reasoning" && len(get[string](item, "encryptedcontent", new(bool))) > 0
		if !whole {
			c.take(1, "input: "+kind)
		}
	}
}

// take notes the field with the most windows.
func (c *call) take(windows int, field string) {
	if windows > c.windows {
		c.windows, c.why = windows, "the service adds to it what its field "+field+" names"
	}
}

// listOf reads a list of objects; what is none has a field that no service knows.
func listOf(raw json.RawMessage) (list []request) {
	var all []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, one := range all {
		r, ok := fieldsOf(one)
		if !ok {
			r = request{"type": json.RawMessage(`"?"`)}
		}
		list = append(list, r)
	}
	return list
}
