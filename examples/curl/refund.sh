#!/usr/bin/env bash
# A refund that waits for a person, with curl alone: start, wait, approve, read the outcome.
# Needs a running server (npm start) and GATEHOUSE_KEY as it was printed.
set -euo pipefail
url=${GATEHOUSE_URL:-http://127.0.0.1:4000}
: "${GATEHOUSE_KEY:?is the key that the server printed}"

# The key goes to curl as a file, because other users see command lines.
ask() {
  curl -sS "$url/graphql" -H 'content-type: application/json' \
    -H @<(printf 'authorization: Bearer %s' "$GATEHOUSE_KEY") -d "$1"
}
# The first value of a field in a JSON text.
field() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }

agent=$(ask '{"query":"{ agents(first: 1) { nodes { id } } }"}' | field id)
generation=$(ask '{
  "query": "mutation($input: StartGenerationInput!) { startGeneration(input: $input) { ... on GenerationPayload { generation { id } } ... on Error { code message } } }",
  "variables": { "input": { "agentId": "'"$agent"'", "prompt": "call send_refund {\"order_id\":\"A-17\",\"amount\":250}\nthen\nsay The money is on its way." } } }' | field id)
echo "started $generation"

# Polls here; with a subscription nothing would (docs/guides/subscriptions.md).
status() { ask '{"query":"{ generation(id: \"'"$generation"'\") { status } }"}' | field status; }
until [ "$(status)" = AWAITING_APPROVAL ]; do sleep 0.2; done
approval=$(ask '{"query":"{ generation(id: \"'"$generation"'\") { requiredAction { approvals { id } } } }"}' | field id)
echo "send_refund waits for a person: $approval"

ask '{
  "query": "mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { ... on ApprovalPayload { approval { status } } ... on Error { code message } } }",
  "variables": { "input": { "approvalId": "'"$approval"'", "verdict": "APPROVE", "reason": "checked with the customer" } } }'
echo

until [ "$(status)" = COMPLETED ]; do sleep 0.2; done
ask '{"query":"{ generation(id: \"'"$generation"'\") { status output { text } toolCalls { name status attempts { outcome } } } }"}'
echo
