package gateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/spec"
)

// billed is what a service answered on a day, and what it bills by the prices and rules of its page then, in dollars for a million
// tokens: dollars is written out as the page would have it, and uses nothing of the table.
type billed struct {
	model, day, usage string
	dollars           float64
}

// Anthropic: input, what is read from the cache and what is written to it are three counts; output has the thoughts. Written for five
// minutes is 1.25 times the input, for an hour twice. Batch halves all, fast doubles it.
var billsOfAnthropic = []billed{
	{"claude-opus-5-5", "2026-11-30", `"input_tokens":1000,"output_tokens":500`, 1000*4 + 500*20},
	{"claude-opus-5-5", "2026-11-30", `"input_tokens":12,"cache_read_input_tokens":90000,"output_tokens":1200`, 12*4 + 90000*0.20 + 1200*20},
	{"claude-opus-5-5", "2026-11-30", `"input_tokens":12,"cache_creation_input_tokens":40000,"output_tokens":10`, 12*4 + 40000*5 + 10*20},
	{"claude-opus-5-5", "2026-11-30", `"input_tokens":5,"cache_creation_input_tokens":3000,"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":2000},"output_tokens":7`, 5*4 + 1000*5 + 2000*8 + 7*20},
	{"claude-opus-5-5", "2026-11-30", `"input_tokens":1000,"output_tokens":500,"speed":"fast"`, 1000*8 + 500*40},
	{"claude-opus-5", "2026-09-01", `"input_tokens":300000,"output_tokens":9000`, 300000*5 + 9000*25},
	{"claude-opus-4-8", "2026-06-01", `"input_tokens":200,"cache_read_input_tokens":1800,"cache_creation_input_tokens":100,"output_tokens":40`, 200*5 + 1800*0.5 + 100*6.25 + 40*25},
	{"claude-opus-4-5-20251101", "2026-01-05", `"input_tokens":7,"output_tokens":3`, 7*5 + 3*25},
	{"claude-fable-5-1", "2026-10-01", `"input_tokens":100,"cache_read_input_tokens":500000,"output_tokens":2000`, 100*10 + 500000*0.25 + 2000*50},
	{"claude-fable-5", "2026-07-01", `"input_tokens":100,"cache_read_input_tokens":500000,"output_tokens":2000`, 100*10 + 500000*1 + 2000*50},
	{"claude-sonnet-5-5", "2026-10-06", `"input_tokens":50,"cache_read_input_tokens":150000,"output_tokens":900`, 50*2 + 150000*0.20 + 900*10},
	{"claude-sonnet-5-5", "2026-10-07", `"input_tokens":50,"cache_read_input_tokens":150000,"output_tokens":900`, 50*2 + 150000*0.10 + 900*10},
	{"claude-sonnet-5", "2026-08-01", `"input_tokens":10000,"output_tokens":10000`, 10000*2 + 10000*10},
	{"claude-sonnet-4-6", "2026-05-01", `"input_tokens":600000,"output_tokens":100`, 600000*3 + 100*15},
	{"claude-sonnet-4-5-20250929", "2026-02-01", `"input_tokens":200000,"output_tokens":100`, 200000*3 + 100*15},
	{"claude-sonnet-4-5", "2026-02-01", `"input_tokens":150000,"cache_read_input_tokens":50001,"output_tokens":100`, 150000*6 + 50001*0.60 + 100*22.50},
	{"claude-haiku-5-5", "2026-11-01", `"input_tokens":100000,"output_tokens":4000`, 100000*0.10 + 4000*0.50},
	{"claude-haiku-5-5", "2026-11-01", `"input_tokens":100001,"output_tokens":4000`, 100001*0.50 + 4000*2.50},
	{"claude-haiku-5-5", "2026-11-01", `"input_tokens":1,"cache_read_input_tokens":60000,"cache_creation_input_tokens":50000,"output_tokens":400`, 1*0.50 + 60000*0.05 + 50000*0.625 + 400*2.50},
	{"claude-haiku-4-5-20251001", "2026-04-01", `"input_tokens":900,"cache_creation_input_tokens":2000,"cache_creation":{"ephemeral_1h_input_tokens":2000},"output_tokens":30,"service_tier":"standard"`, 900*1 + 2000*2 + 30*5},
	{"claude-haiku-4-5", "2026-04-01", `"input_tokens":900,"output_tokens":30,"service_tier":"batch"`, 900*0.5 + 30*2.5},
}

// OpenAI: cached and written tokens are in the input, thoughts in the output. Since GPT-5.6 what is written costs 1.25 times the input. A
// prompt above 272,000 tokens has twice the price of input and cache and 1.5 times that of output, for all of it.
var billsOfOpenAI = []billed{
	{"gpt-6.2-sol", "2026-11-30", `"input_tokens":1000,"output_tokens":500`, 1000*2 + 500*10},
	{"gpt-6.2-sol", "2026-11-30", `"input_tokens":90000,"input_tokens_details":{"cached_tokens":88000},"output_tokens":700,"output_tokens_details":{"reasoning_tokens":600}`, 2000*2 + 88000*0.10 + 700*10},
	{"gpt-6.2-sol", "2026-11-30", `"input_tokens":9000,"input_tokens_details":{"cached_tokens":2000,"cache_write_tokens":6000},"output_tokens":10`, 1000*2 + 2000*0.10 + 6000*2.50 + 10*10},
	{"gpt-6.2-sol", "2026-11-30", `"input_tokens":272000,"output_tokens":1000`, 272000*2 + 1000*10},
	{"gpt-6.2-sol", "2026-11-30", `"input_tokens":272001,"input_tokens_details":{"cached_tokens":200000},"output_tokens":1000`, 72001*4 + 200000*0.20 + 1000*15},
	{"gpt-6.2-astra", "2026-11-18", `"input_tokens":5000,"input_tokens_details":{"cached_tokens":4000},"output_tokens":300`, 1000*8 + 4000*0.40 + 300*40},
	{"gpt-6.1-sol", "2026-10-10", `"input_tokens":5000,"input_tokens_details":{"cached_tokens":4000},"output_tokens":300`, 1000*2 + 4000*0.10 + 300*10},
	{"gpt-6-sol", "2026-10-10", `"input_tokens":5000,"input_tokens_details":{"cached_tokens":4000},"output_tokens":300`, 1000*2 + 4000*0.20 + 300*10},
	{"gpt-6-astra", "2026-09-20", `"input_tokens":300000,"output_tokens":1000`, 300000*20 + 1000*75},
	{"gpt-6-astra", "2026-09-20", `"input_tokens":1000,"input_tokens_details":{"cache_write_tokens":900},"output_tokens":100`, 100*10 + 900*12.50 + 100*50},
	{"gpt-6-luna", "2026-11-01", `"input_tokens":3,"output_tokens":2`, 3*0.10 + 2*0.50},
	{"gpt-5.6-luna", "2026-07-29", `"input_tokens":1000,"output_tokens":1000`, 1000*1 + 1000*6},
	{"gpt-5.6-luna", "2026-07-30", `"input_tokens":1000,"output_tokens":1000`, 1000*0.20 + 1000*1.20},
	{"gpt-5.6-terra", "2026-08-30", `"prompt_tokens":1000,"prompt_tokens_details":{"cached_tokens":500},"completion_tokens":1000`, 500*2 + 500*0.20 + 1000*12},
	{"gpt-5.6-sol", "2026-08-20", `"input_tokens":1000,"output_tokens":1000`, 1000*5 + 1000*30},
	{"gpt-5.6-sol", "2026-08-21", `"input_tokens":1000,"output_tokens":1000`, 1000*4 + 1000*20},
	{"gpt-5.5", "2026-05-01", `"input_tokens":1000,"output_tokens":1000`, 1000*5 + 1000*30},
	{"gpt-5.4", "2026-04-01", `"prompt_tokens":400000,"completion_tokens":1000,"completion_tokens_details":{"reasoning_tokens":900}`, 400000*5 + 1000*22.50},
	{"gpt-5.3-codex", "2026-03-01", `"input_tokens":20000,"input_tokens_details":{"cached_tokens":16000},"output_tokens":800`, 4000*1.75 + 16000*0.175 + 800*14},
	{"gpt-5.1-codex", "2026-01-01", `"input_tokens":20000,"input_tokens_details":{"cached_tokens":16000},"output_tokens":800`, 4000*1.25 + 16000*0.125 + 800*10},
	{"gpt-5.1-codex-mini", "2026-01-01", `"input_tokens":20000,"output_tokens":800`, 20000*0.25 + 800*2},
}

// Gemini: cached tokens are in the prompt, thoughts and the tokens of its own tools in neither count: thoughts cost what output costs,
// tokens of tools what input costs. Flex halves, priority is 1.8 times the price.
var billsOfGemini = []billed{
	{"gemini-3.8-flash", "2026-11-30", `"promptTokenCount":1000,"candidatesTokenCount":500`, 1000*0.75 + 500*3.75},
	{"gemini-3.8-flash", "2026-12-31", `"promptTokenCount":1000,"candidatesTokenCount":500`, 1000*0.75 + 500*3.75},
	{"gemini-3.8-flash", "2027-01-01", `"promptTokenCount":1000,"candidatesTokenCount":500`, 1000*1.50 + 500*7.50},
	{"gemini-3.8-flash", "2026-11-30", `"promptTokenCount":90000,"cachedContentTokenCount":88000,"candidatesTokenCount":50,"thoughtsTokenCount":900`, 2000*0.75 + 88000*0.075 + 950*3.75},
	{"gemini-3.8-flash", "2026-11-30", `"promptTokenCount":1000,"toolUsePromptTokenCount":7000,"candidatesTokenCount":50`, 8000*0.75 + 50*3.75},
	{"gemini-3.8-flash", "2026-11-30", `"promptTokenCount":1000,"candidatesTokenCount":500,"serviceTier":"flex"`, (1000*0.75 + 500*3.75) / 2},
	{"gemini-3.8-flash", "2026-11-30", `"promptTokenCount":900000,"candidatesTokenCount":5`, 900000*0.75 + 5*3.75},
	{"models/gemini-3.8-flash", "2026-11-30", `"promptTokenCount":10,"candidatesTokenCount":5`, 10*0.75 + 5*3.75},
	{"gemini-3.7-flash", "2026-09-30", `"promptTokenCount":1000,"cachedContentTokenCount":1000,"candidatesTokenCount":5`, 1000*0.075 + 5*3.75},
	{"gemini-3.6-flash", "2026-07-25", `"promptTokenCount":1000,"candidatesTokenCount":5`, 1000*1.50 + 5*7.50},
	{"gemini-3.6-flash", "2027-02-01", `"promptTokenCount":1000,"thoughtsTokenCount":5`, 1000*1.50 + 5*7.50},
	{"gemini-4-argon", "2026-11-30", `"promptTokenCount":90000,"cachedContentTokenCount":80000,"candidatesTokenCount":500,"thoughtsTokenCount":4000`, 10000*2 + 80000*0.10 + 4500*10},
	{"gemini-4-argon", "2026-12-01", `"promptTokenCount":90000,"cachedContentTokenCount":80000,"candidatesTokenCount":500,"thoughtsTokenCount":4000`, 10000*4 + 80000*0.20 + 4500*20},
	{"gemini-3.5-flash", "2026-11-01", `"promptTokenCount":1000,"candidatesTokenCount":500`, 1000*1.50 + 500*9},
	{"gemini-3.5-flash-lite", "2026-11-01", `"promptTokenCount":1000,"cachedContentTokenCount":400,"candidatesTokenCount":500`, 600*0.30 + 400*0.03 + 500*2.50},
	{"gemini-3.1-pro-preview", "2026-11-01", `"promptTokenCount":200000,"candidatesTokenCount":500`, 200000*2 + 500*12},
	{"gemini-3.1-pro-preview", "2026-11-01", `"promptTokenCount":200001,"cachedContentTokenCount":100001,"candidatesTokenCount":500`, 100000*4 + 100001*0.40 + 500*18},
	{"gemini-3.1-pro-preview", "2026-11-01", `"promptTokenCount":1000,"candidatesTokenCount":500,"serviceTier":"PRIORITY"`, 1.8 * (1000*2 + 500*12)},
	{"gemini-3.1-flash-lite", "2026-11-01", `"promptTokenCount":1000,"cachedContentTokenCount":400,"candidatesTokenCount":500`, 600*0.25 + 400*0.025 + 500*1.50},
	{"gemini-2.5-pro", "2026-11-29", `"promptTokenCount":250000,"candidatesTokenCount":500`, 250000*2.50 + 500*15},
	{"gemini-2.5-pro", "2026-12-02", `"promptTokenCount":250000,"candidatesTokenCount":500`, 250000*0.75 + 500*3.75},
}

// Each amount is that of the bill, to the pico-dollar that a float has.
func TestBillsOfServices(t *testing.T) {
	t.Parallel()
	for form, bills := range map[string][]billed{
		spec.GatewayAnthropic: billsOfAnthropic, spec.GatewayOpenAI: billsOfOpenAI, spec.GatewayGemini: billsOfGemini,
	} {
		require.GreaterOrEqual(t, len(bills), 20)
		for i, b := range bills {
			name := fmt.Sprintf("%s %d: %s on %s", form, i, b.model, b.day)
			answer := map[string]string{
				spec.GatewayAnthropic: `{"type":"message","usage":{%s}}`, spec.GatewayOpenAI: `{"object":"response","usage":{%s}}`,
				spec.GatewayGemini: `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{%s}}`,
			}[form]
			u := Use{Usage: spec.Usage{Calls: 1}}
			require.True(t, forms[form].read(fmt.Appendf(nil, answer, b.usage), &u), name)
			day, err := time.Parse(time.DateOnly, b.day)
			require.NoError(t, err)
			require.True(t, model.Lookup(b.model).Serves(u.Tier), name)
			price, known := model.PriceOf(&spec.Project{}, model.RowOf(&spec.Project{}, day, b.model))
			require.True(t, known, name)
			require.InEpsilon(t, b.dollars*float64(spec.Dollar)/1e6, float64(price.Cost(u.Usage, u.Tier)), 1e-9, name)
		}
	}
}
