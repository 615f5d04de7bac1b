/**
 * Device enrolment service: decides how a device's OTA request is answered, and which devices may connect.
 *
 *   OTA ▸ known MAC and UUID, approved ▸ credentials      revoked ▸ nothing      unknown ▸ a code
 *
 * Credentials over WebSocket are a random token, stored as a hash and bound to device and client id; over MQTT they are
 * signed with this node's key and contain the generation that they were signed for. Both become invalid when the
 * generation is raised.
 *
 * Draws random tokens; the store does the I/O.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { toBase64url } from '../../core/bytes.ts'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { PresentedDeviceCredential, DeviceIdentity } from '../session/fleet.ts'
import type { DeviceTransport } from '../session/session.ts'
import { formatDownlinkTopic, signMqttIdentity, UPLINK_TOPIC, verifyMqttIdentity } from '../wire/mqtt-identity.ts'
import { formatTopicForDevice, parseTopicTemplate } from '../wire/mqtt-topics.ts'
import type { MqttSettings, OtaRequest, OtaSettings } from '../wire/ota.ts'
import type { AdvertisedAddressSettings } from './advertised-addresses.ts'
import { formatMqttEndpoint, formatWebSocketUrl } from './advertised-addresses.ts'
import type {
  EnrolmentApprovalOptions,
  DeviceRequestAddresses,
  EnrolmentFault,
  EnrolledDevice,
  DeviceEnrolmentService,
} from './enrolment.ts'
import type { EnrolStore } from './enrol-store.ts'
import type { PendingDevicesSettings } from './pending-devices.ts'
import { PendingDevices } from './pending-devices.ts'

/** The owner's broker, and the credentials of devices there. */
export interface ExternalMqttBroker {
  readonly endpoint: string
  readonly uplink: string
  readonly downlink: string
  /**
   * One account for all devices. Without it, devices use the credentials that we sign, for brokers that check them with
   * us.
   */
  readonly account: { readonly username: string; readonly password: string } | undefined
}

export interface DeviceEnrolmentOptions {
  readonly store: EnrolStore
  /** A secret of this node, at least 32 bytes long. */
  readonly signingKey: Uint8Array
  /** Called each time, because ports are known only when the listeners are open. */
  readonly addresses: () => AdvertisedAddressSettings
  readonly broker?: ExternalMqttBroker | undefined
  /** The transport of devices that were approved without a choice. */
  readonly transport: DeviceTransport
  /** Shown with the code on the device's screen. */
  readonly greeting?: string
  readonly pendingDevices?: PendingDevicesSettings
  /** Called when a device began to wait, was approved, or left. */
  readonly onWaiting?: () => void
  /** Called when a device lost its credentials, so that its connection is closed. */
  readonly onVoid?: (deviceId: string) => void
  /**
   * Called when another device has this address from now on: nothing that was known of the earlier one applies to it.
   */
  readonly onNewcomer?: (deviceId: string) => void
  /** Called when an approved device was told where to connect. */
  readonly onBoot?: (device: EnrolledDevice) => void
  readonly clock?: Clock
}

type Changed = Promise<Result<EnrolledDevice, EnrolmentFault>>

export function createDeviceEnrolmentService(options: DeviceEnrolmentOptions): DeviceEnrolmentService {
  if (options.signingKey.length < 32) throw new RangeError('a signing key has at least 32 bytes')
  return new NodeRegistrar(options)
}

class NodeRegistrar implements DeviceEnrolmentService {
  readonly #options: DeviceEnrolmentOptions
  readonly #store: EnrolStore
  readonly #clock: Clock
  readonly #waiting: PendingDevices

  constructor(options: DeviceEnrolmentOptions) {
    this.#options = options
    this.#store = options.store
    this.#clock = options.clock ?? systemClock
    this.#waiting = new PendingDevices(
      {
        code: () => String(randomInt(1_000_000)).padStart(6, '0'),
        challenge: () => toBase64url(randomBytes(24)),
        token: () => toBase64url(randomBytes(32)),
      },
      options.pendingDevices,
      options.onWaiting,
    )
  }

  readonly device = (deviceId: string) => this.#store.device(deviceId)
  readonly devices = () => this.#store.devices()
  readonly pending = () =>
    this.#waiting
      .list(this.#clock.now())
      .map(({ challenge: _challenge, token: _token, approved: _approved, ...rest }) => rest)

  readonly ota = async (request: OtaRequest, addresses: DeviceRequestAddresses): Promise<OtaSettings> => {
    const known = this.#known(request)
    if (known?.state === 'revoked') return { kind: 'nothing' }
    if (known === undefined) return this.#codeFor(request, addresses)
    const token = known.transport === 'websocket' ? toBase64url(randomBytes(32)) : ''
    const device = { ...known, board: request.board, firmware: request.firmware }
    const still = await this.#store.boot(device, token === '' ? undefined : hashOf(token))
    // The device was revoked in the meantime; its next boot request gets the answer for revoked devices.
    if (!still) return { kind: 'nothing' }
    this.#waiting.leave(known)
    this.#options.onBoot?.(known)
    return this.#settings(known, addresses, token)
  }

  readonly preview = (request: OtaRequest, addresses: DeviceRequestAddresses): OtaSettings => {
    const known = this.#known(request)
    if (known?.state === 'revoked') return { kind: 'nothing' }
    if (known === undefined)
      return { kind: 'activation', activation: { code: '', challenge: '', message: '' }, websocket: undefined }
    const settings = this.#settings(known, addresses, '')
    return settings.kind === 'mqtt' ? { ...settings, mqtt: { ...settings.mqtt, password: '' } } : settings
  }

  readonly activate: DeviceEnrolmentService['activate'] = (request) => {
    const waiting = this.#waiting.find(request, this.#clock.now())
    if (waiting === undefined) return 'nothing-to-activate'
    // Chips without a serial number send no challenge. A challenge that is sent must belong to this activation and not
    // to an older one.
    if (request.challenge !== undefined && request.challenge !== waiting.challenge) return 'nothing-to-activate'
    return waiting.approved ? 'activated' : 'not-yet'
  }

  readonly admit = async (claim: PresentedDeviceCredential): Promise<DeviceIdentity | undefined> =>
    claim.kind === 'token' ? this.#admitToken(claim) : this.#admitMqtt(claim)

  readonly recognise = (deviceId: string): DeviceIdentity | undefined => {
    const device = this.#store.device(deviceId)
    return device?.state === 'approved' && device.transport === 'mqtt-broker' ? identityOf(device) : undefined
  }

  readonly approve = async (code: string, options: EnrolmentApprovalOptions): Changed => {
    const waiting = this.#waiting.byCode(code, this.#clock.now())
    if (waiting === undefined) return fail({ kind: 'unknown-code', code })
    const { deviceId, clientId, board, firmware } = waiting
    const before = this.#store.device(deviceId)
    // Marked before the write, so that two approvals of one code cannot both find it.
    this.#waiting.approve(waiting)
    const approval = this.#store.approve({
      deviceId,
      clientId,
      name: options.name ?? before?.name ?? board,
      transport: options.transport ?? before?.transport ?? this.#options.transport,
      board,
      firmware,
      approvedBy: options.by,
    })
    const device = await approval.catch((error: unknown) => {
      this.#waiting.approve(waiting, false)
      throw error
    })
    // A device that shows a code was not enrolled before; an enrolled one (same address, same UUID) would have received
    // credentials. This runs before anything else is awaited, because the device may connect as soon as it is approved.
    this.#options.onNewcomer?.(deviceId)
    // A client that sends only one OTA request has this token and no other, whichever transport it uses after its next
    // boot.
    await this.#store.boot(device, hashOf(waiting.token))
    return ok(device)
  }

  readonly rotate = (deviceId: string, by: string): Changed => this.#void(deviceId, by)

  readonly revoke = (deviceId: string, by: string): Changed => this.#void(deviceId, by, 'revoked')

  readonly forget = async (deviceId: string, by: string): Changed => {
    const device = this.#store.device(deviceId)
    if (device === undefined) return fail({ kind: 'unknown-device', device: deviceId })
    await this.#store.remove(deviceId, by)
    // The device was approved and has not asked since, so it would be shown a code that was used already.
    this.#waiting.leave(device)
    this.#options.onVoid?.(deviceId)
    return ok(device)
  }

  async #void(deviceId: string, by: string, state?: 'revoked'): Changed {
    const device = await this.#store.voidCredentials(deviceId, by, state)
    if (device === undefined) return fail({ kind: 'unknown-device', device: deviceId })
    this.#options.onVoid?.(deviceId)
    return ok(device)
  }

  #known({ deviceId, clientId }: DeviceIdentity): EnrolledDevice | undefined {
    const device = this.#store.device(deviceId)
    return device?.clientId === clientId ? device : undefined
  }

  #codeFor(request: OtaRequest, { remoteAddress, localAddress }: DeviceRequestAddresses): OtaSettings {
    const { deviceId, clientId, board, firmware } = request
    const replaces = this.#store.device(deviceId) !== undefined
    const { code, challenge, token } = this.#waiting.enter(
      { deviceId, clientId, board, firmware, remoteAddress, replaces },
      this.#clock.now(),
    )
    const message = `${this.#options.greeting ?? 'Hearthbus'}\n${code}`
    const url = formatWebSocketUrl(this.#options.addresses(), localAddress)
    const websocket = url === undefined ? undefined : { url, token }
    return { kind: 'activation', activation: { code, challenge, message }, websocket }
  }

  #settings(device: EnrolledDevice, { localAddress }: DeviceRequestAddresses, token: string): OtaSettings {
    const addresses = this.#options.addresses()
    if (device.transport === 'websocket') {
      const url = formatWebSocketUrl(addresses, localAddress)
      return url === undefined ? { kind: 'nothing' } : { kind: 'websocket', websocket: { url, token } }
    }
    const mqtt = device.transport === 'mqtt' ? this.#ownBroker(device, localAddress) : this.#otherBroker(device)
    return mqtt === undefined ? { kind: 'nothing' } : { kind: 'mqtt', mqtt }
  }

  #ownBroker(device: EnrolledDevice, localAddress: string | undefined): MqttSettings | undefined {
    const endpoint = formatMqttEndpoint(this.#options.addresses(), localAddress)
    if (endpoint === undefined) return undefined
    const subscribeTopic = formatDownlinkTopic(device.deviceId)
    return { endpoint, ...this.#signed(device), publishTopic: UPLINK_TOPIC, subscribeTopic }
  }

  #otherBroker(device: EnrolledDevice): MqttSettings | undefined {
    const { broker } = this.#options
    if (broker === undefined) return undefined
    return {
      endpoint: broker.endpoint,
      ...this.#signed(device),
      ...broker.account,
      publishTopic: formatTopicForDevice(parseTopicTemplate(broker.uplink), device),
      subscribeTopic: formatTopicForDevice(parseTopicTemplate(broker.downlink), device),
    }
  }

  #signed({ deviceId, clientId, generation }: EnrolledDevice) {
    return signMqttIdentity(this.#options.signingKey, { deviceId, clientId, generation })
  }

  #admitToken({
    deviceId,
    clientId,
    token,
  }: Extract<PresentedDeviceCredential, { kind: 'token' }>): DeviceIdentity | undefined {
    const device = this.#known({ deviceId, clientId })
    if (device?.state !== 'approved') return undefined
    const hash = hashOf(token)
    const found = this.#store.hasToken(deviceId, hash)
    if (found === undefined) return undefined
    // The device need not wait for the disk: if the same token is presented again before the write, it is accepted
    // again anyway.
    if (found === 'unused') void this.#store.useToken(deviceId, hash).catch(() => undefined)
    return identityOf(device)
  }

  #admitMqtt({ credentials }: Extract<PresentedDeviceCredential, { kind: 'mqtt' }>): DeviceIdentity | undefined {
    const claimed = verifyMqttIdentity(this.#options.signingKey, credentials)
    if (!claimed.ok) return undefined
    const device = this.#known(claimed.value)
    if (device?.state !== 'approved' || device.transport !== 'mqtt') return undefined
    return device.generation === claimed.value.generation ? identityOf(device) : undefined
  }
}

function identityOf({ deviceId, clientId }: DeviceIdentity): DeviceIdentity {
  return { deviceId, clientId }
}

function hashOf(token: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(token).digest())
}
