/** Whose votes something can be, for a choice by name. Pure. */
import { t } from '../texts/texts.tsx'
export interface Voter {
  id: string
  name: string
}

interface Key {
  id: string
  name: string
  votes: boolean
  agent: object | null
  revokedAt: string | null
  creator: { id: string } | null
}

interface Known {
  self: { id: string; name: string; isOperator: boolean }
  keys: readonly Key[]
  /** People that were seen elsewhere, such as in the list of sessions. */
  people: readonly { id: string; name: string | null }[]
}

/**
 * The people and keys that can be chosen, by name. An operator chooses anybody who may vote; anybody else only itself and
 * the keys that it made, because whoever gets the question votes for them. Equal names are told apart by the end of the id.
 */
export function votersOf({ self, keys, people }: Known): Voter[] {
  const { isOperator } = self
  const voting = keys.filter(
    ({ votes, agent, revokedAt, creator }) =>
      votes && agent === null && revokedAt === null && (isOperator || creator?.id === self.id),
  )
  const persons = isOperator ? people.filter(({ id }) => id.startsWith('usr_')) : []
  const found = new Map<string, string>()
  // Whether a key may vote is known of those in the list only.
  if (!isOperator && !keys.some(({ id, votes }) => id === self.id && !votes)) found.set(self.id, self.name)
  for (const { id, name } of [...persons, ...voting]) found.set(id, name ?? id)
  const all = [...found].map(([id, name]) => ({ id, name }))
  return all
    .map(({ id, name }) => {
      const isAlone = all.filter((one) => one.name === name).length === 1
      const kind = id.startsWith('usr_') ? t('person') : t('key')
      return { id, name: isAlone ? `${name} (${kind})` : `${name} (${kind} …${id.slice(-6)})` }
    })
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
}
