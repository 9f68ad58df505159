/** A choice of who did something: oneself, the API keys that one may see, and whoever stands in the list. */
import { graphql } from '../api/document.ts'
import { list } from '../api/reads.ts'
import type { PrincipalParts } from '../api/principal.ts'
import { useWhole } from '../api/pages.ts'
import { useQuery } from '../api/query.ts'
import { ChoiceField } from './filters.tsx'
import { t } from '../texts/texts.tsx'

const selfQuery = graphql(`
  query Self {
    viewer {
      id
    }
  }
`)

const keyName = graphql(`
  fragment KeyName on ApiKey {
    id
    name
  }
`)
const keyNamesQuery = list('apiKeys', keyName)

interface Props {
  label: string
  value: string | null
  /** Those in the rows that are shown. */
  shown: readonly PrincipalParts[]
  /** Whether the server itself can be chosen. */
  hasSystem?: boolean
  onChange(value: string | null): void
}

export function PrincipalField({ label, value, shown, hasSystem = false, onChange }: Props) {
  const self = useQuery(selfQuery, {}).data?.viewer.id
  // Who may not list keys chooses among those in the list.
  const keys = useWhole(keyNamesQuery, { first: 100 }, ['API_KEY_CREATED'])
  const names = new Map<string, string>()
  if (self) names.set(self, t('You'))
  if (hasSystem) names.set('system', t('system'))
  for (const { id, name } of [...keys, ...shown]) if (!names.has(id)) names.set(id, name ?? id)
  return (
    <ChoiceField
      label={label}
      any={t('Anybody')}
      value={value}
      options={[...names].map(([id, name]) => ({ value: id, name }))}
      onChange={onChange}
    />
  )
}
