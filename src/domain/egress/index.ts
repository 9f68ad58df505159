/** The entry point of egress: every outgoing HTTP request goes through it. */
export { createEgress, type Egress, type EgressOptions } from './egress.ts'
export { createMailer, isMailAddress, type Mail, type Mailer, type MailSettings } from './mail.ts'
export { EgressError } from './egress-error.ts'
export { isConnectionHeader } from './request-rules.ts'
export type { EgressPolicy } from './policy.ts'
