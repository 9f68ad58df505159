/** What the kinds of things are called that have a list, and a page for each. */
import { t } from '../texts/texts.tsx'

export const kinds = { agent: t('agent'), tool: t('tool'), upstream: t('upstream'), webhook: t('webhook') }
export type Kind = keyof typeof kinds

/** What the actions on them begin with, as in `tools:Create`. */
export const actionsOf: Record<Kind, string> = {
  agent: 'agents',
  tool: 'tools',
  upstream: 'tools',
  webhook: 'webhooks',
}

/** The way back to a list. */
export const lists: Record<Kind, string> = {
  agent: t('All agents'),
  tool: t('All tools'),
  upstream: t('All upstreams'),
  webhook: t('All webhooks'),
}
