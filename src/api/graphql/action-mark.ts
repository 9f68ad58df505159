/** The mark of a field that is also an action: what is selected of its answer. Everything else is read from the schema. */

export interface ActionMark {
  /** The fields of the answer, as they stand in a document. Of a mutation: of its payload. */
  selection: string
}

/** What a thing shows of itself as an action's answer. */
export const shown = {
  tool: `{ __typename id name title description version inputSchema createdAt updatedAt }`,
  agent: `{ id name instructions model version tools { id name } createdAt updatedAt }`,
  generation: `{ id status stopReason threadId stepCount output { text object } error { code message }
    requiredAction { toolCalls { id name arguments } } createdAt finishedAt }`,
  toolCall: `{ id name status arguments isError errorCode content structuredContent approval { id status expiresAt }
    createdAt settledAt }`,
  approval: `{ id status toolCall { id name } expiresAt createdAt }`,
}

/** The shape of a list's answer. */
export const listOf = (selection: string) => `{ nodes ${selection} pageInfo { hasNextPage endCursor } }`

/** Marks a field: `t.field({ …, ...actionMark(shown.tool) })`. */
export function actionMark(selection: string): { extensions: { action: ActionMark } } {
  return { extensions: { action: { selection } } }
}
