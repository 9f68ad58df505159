/** A mutation behind a button: how it ended is told in a toast. */
import type { CallerVariables } from '../api/client.ts'
import type { TadaDocumentNode } from '../api/document.ts'
import { refusalOf } from '../api/outcome.ts'
import { answerOf, useMutation, type Payload } from '../api/query.ts'
import { toast } from './toasts.tsx'
import { t } from '../texts/texts.tsx'

/** `act` resolves with null when nothing was done. `done` is told otherwise, unless it is null. */
export function useAction<Result extends object, Variables>(document: TadaDocumentNode<Result, Variables>) {
  const { mutate, isRunning } = useMutation(document)
  const act = async (
    variables: CallerVariables<Variables>,
    done: string | null = null,
    tone: 'good' | 'plain' = 'plain',
  ): Promise<Payload<Result> | null> => {
    const result = await mutate(variables)
    const answer = result && answerOf(result)
    const refused = refusalOf(answer)
    if (refused || !answer) {
      toast(refused?.message ?? t('The server did not answer. Look at the page before trying again.'), {
        tone: 'bad',
      })
      return null
    }
    if (done !== null) toast(done, { tone })
    return answer as Payload<Result>
  }
  return { act, isRunning }
}
