/** A choice of whose votes something is to be: by name, and by id for who is in no list. */
import './forms.css'
import { useId } from 'react'
import { graphql } from '../api/document.ts'
import { list } from '../api/reads.ts'
import type { Issue } from '../api/outcome.ts'
import { useWhole } from '../api/pages.ts'
import type { Viewer } from '../api/viewer.ts'
import { Field } from './fields.tsx'
import { votersOf } from './voters.ts'
import { Fault } from './fault.tsx'
import { t } from '../texts/texts.tsx'

const votingKey = graphql(`
  fragment VotingKey on ApiKey {
    id
    name
    votes
    revokedAt
    agent {
      id
    }
    creator {
      id
    }
  }
`)
const votingKeysQuery = list('apiKeys', votingKey)

const personOfSession = graphql(`
  fragment PersonOfSession on Session {
    principal {
      id
      name
    }
  }
`)
const peopleQuery = list('sessions', personOfSession)

/** Nobody was chosen; or somebody who is in no list, whose id is being written. */
export interface Choice {
  id: string
  isWritten: boolean
}
export const nobody: Choice = { id: '', isWritten: false }

interface Props {
  label: string
  value: Choice
  viewer: Viewer
  /** Ids that cannot be chosen again. */
  without?: ReadonlySet<string>
  issues: readonly Issue[]
  onChange(value: Choice): void
}

/** The value of the option after which an id can be written. */
const other = 'by-id'

export function VoterField({ label, value, viewer, without, issues, onChange }: Props) {
  const id = useId()
  const keys = useWhole(votingKeysQuery, { first: 100 }, ['API_KEY_CREATED', 'API_KEY_REVOKED'])
  const sessions = useWhole(peopleQuery, { first: 100 }, [], { skip: !viewer.isOperator })
  const voters = votersOf({
    self: viewer,
    keys,
    people: sessions.map(({ principal }) => principal),
  }).filter((one) => !without?.has(one.id))
  const own = issues.filter(({ path }) => path.at(-1) === 'principalId')
  // What is wrong with an id stands where it was written.
  const fault = value.isWritten ? '' : own.map(({ message }) => message).join(' ')
  return (
    <>
      <div className="field">
        <label htmlFor={id}>
          <span>{label}</span>
        </label>
        <select
          id={id}
          value={value.isWritten ? other : value.id}
          aria-invalid={fault !== '' || undefined}
          aria-describedby={fault ? `${id}-fault` : undefined}
          onChange={(event) => {
            const chosen = event.target.value
            onChange(chosen === other ? { id: '', isWritten: true } : { id: chosen, isWritten: false })
          }}
        >
          <option value="">{t('Select …')}</option>
          {voters.map((voter) => (
            <option key={voter.id} value={voter.id}>
              {voter.name}
            </option>
          ))}
          <option value={other}>{t('By id …')}</option>
        </select>
        <Fault id={`${id}-fault`} text={fault} />
      </div>
      {value.isWritten && (
        <Field
          label={t('Id of the person or key')}
          at="id"
          issues={own.map((one) => ({ ...one, path: ['input', 'id'] }))}
          value={value.id}
          onChange={(written) => onChange({ id: written.trim(), isWritten: true })}
          placeholder={t('usr_… or key_…')}
        />
      )}
    </>
  )
}
