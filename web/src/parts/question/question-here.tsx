/** A question where it came up: read by its id and decided there, without the inbox. */
import { useQuery } from '../../api/query.ts'
import { Empty, Failure, Skeleton } from '../states.tsx'
import { questionQuery, questionTypes } from './documents.ts'
import { QuestionPane } from './question.tsx'
import { t } from '../../texts/texts.tsx'

interface Props {
  id: string
  /** Called when this person's verdict has been taken. */
  onDecided?(): void
}

export function QuestionHere({ id, onDecided }: Props) {
  const { data, error, reload } = useQuery(questionQuery, { id }, { eventTypes: questionTypes })
  const question = data?.approval
  if (error !== null && !question) return <Failure error={error} retry={reload} />
  if (question === null) return <Empty title={t('This request no longer exists')} />
  if (!question) return <Skeleton lines={6} />
  const decided = () => {
    reload()
    onDecided?.()
  }
  return (
    <>
      {error !== null && <Failure error={error} retry={reload} />}
      <QuestionPane question={question} onDecided={decided} reload={reload} back={null} />
    </>
  )
}
