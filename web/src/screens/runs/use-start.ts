/** Starting a run out of another one, from a dialog. */
import { useRef } from 'react'
import { useLocation } from 'wouter'
import { writeJson } from '../../../../src/core/exact-json.ts'
import type { VariablesOf } from '../../api/document.ts'
import { useMutation } from '../../api/query.ts'
import { pressFor, randomKey, type Press } from '../../parts/press.ts'
import { toast } from '../../parts/toasts.tsx'
import { startMutation } from './documents.ts'
import { t } from '../../texts/texts.tsx'

export type StartInput = Omit<VariablesOf<typeof startMutation>['input'], 'idempotencyKey'>

/** Starts a run and goes to it, or to what is `about` it; a press whose answer was lost and the next one start the same run. */
export function useStart(onClose: () => void) {
  const [, go] = useLocation()
  const form = useMutation(startMutation)
  const press = useRef<Press | null>(null)
  const start = async (input: StartInput, about = (id: string) => `/runs/${id}`) => {
    const own = pressFor(press.current, writeJson(input), randomKey)
    press.current = own
    const started = await form.send({ input: { ...input, idempotencyKey: own.key } })
    if (!started) return
    onClose()
    toast(t('A new run started.'), { tone: 'good' })
    go(about(started.generation.id))
  }
  return { form, start }
}
