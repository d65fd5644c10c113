// Package record keeps every exchange with a model's service in files, and answers from them without the service. Its input
// is a request, its output the answer or the failure that the caller got in the end, after retries and fallbacks. It never
// keeps a header or a secret, and a replay never calls a service.
//
// A recording is a directory. Its file recording.json reports which run it is of. Every exchange is one more file of JSON, named
// by task, attempt, turn, purpose and occurrence, and complete as soon as it is there.
//
// A replay answers by those names, so that agents may run side by side in any order, and only what was asked the same: a request
// that differs from the recorded one is an error that says where. What two runs of the same plan never have in common is not
// compared: see volatile.
package record
