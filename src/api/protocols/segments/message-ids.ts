/** Ids of messages of the model: derived from the run, the step and its attempt, so that every replay has the same. */

export function messageId(generationId: string, stepIndex: number, attempt: number): string {
  return `msg_${generationId.slice('gen_'.length)}_${stepIndex}_${attempt}`
}

/** The run of such an id; null for any other text. */
export function runOfMessage(id: string): string | null {
  const body = /^msg_([0-9a-z]{24})_\d{1,6}_\d{1,6}$/.exec(id)?.[1]
  return body ? `gen_${body}` : null
}
