/** The keys of an open run. The timeline has keys of its own. */
import { useRef } from 'react'
import { useLocation } from 'wouter'
import { ask } from '../../api/client.ts'
import { useKeys } from '../../parts/keys.ts'
import { toast } from '../../parts/toasts.tsx'
import { runIdsQuery } from './documents.ts'
import type { Choice } from '../../parts/run/choice.ts'
import type { Run } from '../../parts/run/run-feed.ts'
import { lastList } from './use-run-list.ts'
import { t } from '../../texts/texts.tsx'

export function useRunKeys({ id, parent, root }: Run, choice: Choice | null, back: () => void): void {
  const [, go] = useLocation()
  const busy = useRef(false)
  const step = async (by: number) => {
    if (busy.current) return
    busy.current = true
    const ids = await neighbours(id).finally(() => (busy.current = false))
    const next = ids[ids.indexOf(id) + by]
    if (ids.includes(id) && next !== undefined) go(`/runs/${next}`)
    else toast(by < 0 ? t('This is the first run of the list.') : t('This is the last run of the list.'))
  }
  useKeys({
    '[': () => void step(-1),
    ']': () => void step(1),
    p: () => parent && go(`/runs/${parent.id}`),
    t: () => root && go(`/runs/${root.id}`),
    c: () => void navigator.clipboard.writeText(choice?.id ?? id).catch(() => {}),
    Escape: () => {
      const field = document.activeElement
      if (field instanceof HTMLElement && field.matches('input, textarea, select, .editor')) field.blur()
      else back()
    },
  })
}

/** The runs of the list that was shown last; without one, of the list without a filter. */
async function neighbours(id: string): Promise<readonly string[]> {
  const { ids } = lastList()
  if (ids.includes(id)) return ids
  try {
    const { generations } = await ask(runIdsQuery, {})
    return generations.nodes.map((node) => node.id)
  } catch {
    return []
  }
}
