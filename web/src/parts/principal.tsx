/** Who did something: by name, and by id where there is no name to see. One press copies the id. */
import type { PrincipalParts } from '../api/principal.ts'
import { CopyId } from './copy-id.tsx'
import { Foreign } from './text.tsx'
import { t, T } from '../texts/texts.tsx'

export function Principal({ of: { id, name } }: { of: PrincipalParts }) {
  if (id === 'system') return t('system')
  if (name === null) return <CopyId id={id} />
  return (
    <CopyId id={id}>
      <Foreign text={name} max={60} />
    </CopyId>
  )
}

/** Who requested something, and for whom, where a program did. */
export function Requester({ of, actsFor }: { of: PrincipalParts; actsFor?: PrincipalParts | null }) {
  return (
    <>
      <Principal of={of} />
      {actsFor && (
        <>
          {' '}
          <T text="for {name}" name={<Principal of={actsFor} />} />
        </>
      )}
    </>
  )
}
