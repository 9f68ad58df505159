/** The form of a webhook as a draft, and what of it is sent. Pure. */
import { changedNames } from '../../../parts/rebase.ts'
import type { LoggedType } from '../../../api/feed.ts'
import { t } from '../../../texts/texts.tsx'

export interface WebhookDraft {
  url: string
  description: string
  /** Whether every event is sent, those of later versions too. */
  isEvery: boolean
  types: readonly string[]
  ordered: boolean
  full: boolean
}

export const emptyDraft: WebhookDraft = {
  url: '',
  description: '',
  isEvery: false,
  types: ['APPROVAL_REQUESTED', 'APPROVAL_DECIDED'],
  ordered: false,
  full: false,
}

export const draftNames: Record<keyof WebhookDraft, string> = {
  url: t('Endpoint'),
  description: t('What it is for'),
  isEvery: t('Every event'),
  types: t('Events'),
  ordered: t('In order'),
  full: t('Arguments'),
}

interface Settings {
  url: string
  description: string | null
  types: readonly string[] | null
  ordered: boolean
  full: boolean
}

/** The draft with which editing begins. */
export const draftOfWebhook = ({ url, description, types, ordered, full }: Settings): WebhookDraft => ({
  url: endpointText(url),
  description: description ?? '',
  isEvery: types === null,
  types: types?.toSorted() ?? [],
  ordered,
  full,
})

/** Whether there is something to send: a URL, and at least one type. */
export const isComplete = ({ url, isEvery, types }: WebhookDraft): boolean =>
  url.trim() !== '' && (isEvery || types.length > 0)

/** The address of an endpoint as people read it. */
export const endpointText = (url: string): string => url.replace(/^mailto:/, '')

/** What a person typed, as an endpoint: a plain e-mail address is a mailto. */
const endpointOf = (typed: string): string =>
  /^[^\s:/@]+@[^\s:/@]+$/.test(typed.trim()) ? `mailto:${typed.trim()}` : typed.trim()

const typesOf = ({ isEvery, types }: WebhookDraft) => (isEvery ? null : (types.toSorted() as LoggedType[]))

/** The input of createWebhook, without its project. */
export const createInputOf = (draft: WebhookDraft) => ({
  url: endpointOf(draft.url),
  description: draft.description.trim() || null,
  types: typesOf(draft),
  ordered: draft.ordered,
  full: draft.full,
})

/** The fields of updateWebhook that were changed, so that what somebody else changed meanwhile stays as it is. */
export function updateInputOf(began: WebhookDraft, draft: WebhookDraft) {
  const changed = new Set(changedNames(began, draft))
  return {
    ...(changed.has('url') ? { url: endpointOf(draft.url) } : {}),
    ...(changed.has('description') ? { description: draft.description.trim() || null } : {}),
    ...(changed.has('isEvery') || changed.has('types') ? { types: typesOf(draft) } : {}),
    ...(changed.has('ordered') ? { ordered: draft.ordered } : {}),
    ...(changed.has('full') ? { full: draft.full } : {}),
  }
}

/** The draft with a type chosen or not. */
export const toggleType = (draft: WebhookDraft, type: string): WebhookDraft => ({
  ...draft,
  types: draft.types.includes(type)
    ? draft.types.filter((one) => one !== type)
    : [...draft.types, type].toSorted(),
})
