/** What of a run is looked at; it is in the address, so that a link shows the same. Pure. */
import { t } from '../../texts/texts.tsx'
export const views = [
  { view: 'conversation', name: t('Conversation') },
  { view: 'timeline', name: t('Timeline') },
  { view: 'events', name: t('Events') },
] as const
export type View = (typeof views)[number]['view']

/** The call or step that is chosen. */
export interface Choice {
  kind: 'call' | 'step'
  id: string
}

/** The address of a run with a view and a choice. */
export function runHref(id: string, view: View, choice: Choice | null): string {
  const given = new URLSearchParams()
  if (view !== views[0].view) given.set('view', view)
  if (choice) given.set(choice.kind, choice.id)
  const text = given.toString()
  return `/runs/${id}${text === '' ? '' : `?${text}`}`
}

/** The address at which two runs stand beside each other. */
export const compareHref = (id: string, other: string): string => `/runs/${id}/compare/${other}`

/** The view and the choice in the query of an address. */
export function placeOf(search: string): { view: View; choice: Choice | null } {
  const given = new URLSearchParams(search)
  const view = views.find((one) => one.view === given.get('view'))?.view ?? views[0].view
  const [call, step] = [given.get('call'), given.get('step')]
  return { view, choice: call ? { kind: 'call', id: call } : step ? { kind: 'step', id: step } : null }
}
