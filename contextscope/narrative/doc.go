// Package narrative turns the turns of other agents into background in the user role, which names the author of each piece and
// quotes it between markers that no text can forge. A Narrator serves one request. It never tells thoughts, signatures or call
// ids, and it decides nothing about which events a request has.
package narrative
