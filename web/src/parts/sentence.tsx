/** The sentence about a call, in which the values of arguments are told from the words about the tool. */
import { Foreign, titleOf } from './text.tsx'

export interface CallSentence {
  parts: readonly { text: string; isValue: boolean }[]
}

export function Sentence({ of: { parts } }: { of: CallSentence }) {
  return parts.map(({ text, isValue }, at) =>
    isValue ? (
      // The pieces of a sentence have no names, and never change places.
      // oxlint-disable-next-line react/no-array-index-key
      <b key={at} className="sentence-value">
        <Foreign text={text} />
      </b>
    ) : (
      // oxlint-disable-next-line react/no-array-index-key
      <Foreign key={at} text={text} />
    ),
  )
}

/** The sentence where it may be cut: the whole of it is in its title. */
export const CutSentence = ({ of }: { of: CallSentence }) => (
  <span title={titleOf(sentenceText(of))}>
    <Sentence of={of} />
  </span>
)

/** The sentence as plain text, for labels. */
export const sentenceText = ({ parts }: CallSentence): string => parts.map(({ text }) => text).join('')
