/** What stands where a run would that is not there, or not for this person. */
import { Link } from 'wouter'
import { Empty } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { t, T } from '../../texts/texts.tsx'

export function NoRun({ id }: { id: string }) {
  return (
    <Empty title={t('There is no such run')}>
      <Foreign className="mono" text={id} max={80} />{' '}
      <T
        text="It may have been deleted, or belong to another project. {link}"
        link={<Link href="/runs">{t('All runs')}</Link>}
      />
    </Empty>
  )
}
