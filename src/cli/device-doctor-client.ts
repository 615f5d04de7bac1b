/**
 * Device doctor: sends the first request of a device, and reports the answer and whether the device could follow it.
 *
 * The request goes to this machine's address on the network, as a device's would: a server that answers on 127.0.0.1
 * may be unreachable from elsewhere.
 */
import { randomUUID } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import type { Command } from 'commander'
import { formatFindingLines } from '../core/doctor-finding.ts'
import { examineOta } from '../devices/enrol/ota-doctor-client.ts'
import { callToolAsOwner, printAnswer } from './command-client.ts'
import { isNameOfDevice, formatFailedDeviceCall } from './devices-text.ts'
import type { EnrolmentListView } from './devices-text.ts'
import { EXIT_CODES, sanitizeForTerminal } from './command-output.ts'

export interface DeviceOtaCheckOptions {
  readonly device?: string | undefined
  readonly ota?: string
}

/**
 * Sends the request of an unknown device, or of the named device with its identity, which gets that device's answer.
 */
export async function runDeviceOtaDoctorCommand(
  command: Command,
  { device, ota }: DeviceOtaCheckOptions,
): Promise<void> {
  const enrolment = await enrolmentOf(command, { needed: device !== undefined || ota === undefined })
  if (enrolment === undefined) return
  const known = enrolment.devices.find((each) => device !== undefined && isNameOfDevice(each, device))
  if (device !== undefined && known === undefined) {
    command.error(`There is no device ${device}. \`hearthbus devices list\` says which there are.`, {
      exitCode: EXIT_CODES.usage,
    })
  }
  const otaUrl = ota ?? (enrolment.local_only || enrolment.public_url ? enrolment.ota : toLanUrl(enrolment.ota))
  const identity = known === undefined ? createUnknownIdentity() : { deviceId: known.id, clientId: known.client_id }
  const { answer, findings, healthy } = await examineOta({ otaUrl, identity })
  const lines = [
    `${known === undefined ? 'A stranger' : known.device} asks at ${otaUrl}`,
    ...formatFindingLines(findings),
    '',
    healthy ? 'A device would get there.' : 'A device would not get there.',
  ]
  printAnswer(command, {
    json: { ota: otaUrl, told: answer ?? null, findings: findings.map((finding) => ({ ...finding })), healthy },
    text: sanitizeForTerminal(lines.join('\n')),
    exit: healthy ? EXIT_CODES.ok : EXIT_CODES.failed,
  })
}

/** The enrolment of a device; not needed for another server, which can be examined without a gateway. */
async function enrolmentOf(
  command: Command,
  { needed }: { readonly needed: boolean },
): Promise<EnrolmentListView | undefined> {
  if (!needed) return { pending: [], devices: [], refused: [], ota: '', local_only: false, public_url: false }
  const view = await callToolAsOwner(command, 'devices.enrolment.list', {}, formatFailedDeviceCall)
  return view?.structured as unknown as EnrolmentListView | undefined
}

/** The URL under which others reach this machine, if it has an address on a network. */
export function toLanUrl(ota: string): string {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === 'IPv4' && !each.internal)?.address
  return address === undefined ? ota : ota.replace('://127.0.0.1:', `://${address}:`)
}

/** A MAC address of the locally administered range, which no real device has. */
function createUnknownIdentity(): { readonly deviceId: string; readonly clientId: string } {
  const clientId = randomUUID()
  const digits = clientId.replaceAll('-', '').slice(0, 10)
  return { deviceId: `02:${digits.replaceAll(/(..)(?=.)/g, '$1:')}`, clientId }
}
