/** The events of one run, with its text while it is written. After a loss of the connection it goes on where it was. */
import { graphql, textOf, type ResultOf } from './document.ts'
import { follow } from './follow.ts'
import { t } from '../texts/texts.tsx'

const runEvents = graphql(`
  subscription RunEvents($generationId: ID!, $after: String) {
    generationEvents(generationId: $generationId, after: $after) {
      __typename
      type
      cursor
      ... on TextDeltaEvent {
        stepIndex
        attempt
        offset
        text
      }
      ... on StepResetEvent {
        stepIndex
        attempt
      }
    }
  }
`)

export type RunEvent = ResultOf<typeof runEvents>['generationEvents']

interface Listener {
  hear(event: RunEvent): void
  /** The run has ended, or this person may not follow it: `refusal` says why. No more events come. */
  end(refusal: string | null): void
}

/** Hears every event of a run, from the first one on, until it has ended or the returned function is called. */
export function followRun(generationId: string, { hear, end }: Listener): () => void {
  let stop = () => {}
  const begin = () => {
    const variables: { generationId: string; after: string | null } = { generationId, after: null }
    stop = follow<RunEvent>(textOf(runEvents), 'generationEvents', variables, {
      hear,
      refuse(message) {
        // A cursor that the server does not know any more: from the beginning, which every listener bears.
        if (variables.after !== null) begin()
        else end(message ?? t('The events of this run cannot be followed.'))
      },
      complete: () => end(null),
    })
  }
  begin()
  return () => stop()
}
