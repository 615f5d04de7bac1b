import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.ts'
import { decodeStatusReply } from '../wire/device.ts'
import type { DeviceKind } from './device-classification.ts'
import { buildHomeseerDeviceCatalog } from './device-catalog-and-event-consequences.ts'

function classOf(record: JsonObject, owner?: DeviceKind) {
  const status = decodeStatusReply({ Devices: [{ ref: 1, ...record }] })
  if (!status.ok) throw new Error(status.fault.detail)
  const owned = new Map(owner === undefined ? [] : [[1, owner] as const])
  const device = buildHomeseerDeviceCatalog(status.value.devices, new Map([[1, []]]), owned).byRef.get(1)
  if (device === undefined) throw new Error('no device')
  return { kind: device.kind, reasons: device.sensitivity, evidence: device.evidence }
}

function pairs(...labels: readonly string[]): readonly JsonObject[] {
  return labels.map((Label, index) => ({ Label, ControlValue: index }))
}

const SWITCH = [
  { Label: 'Off', ControlUse: 2, ControlValue: 0 },
  { Label: 'On', ControlUse: 1, ControlValue: 255 },
]

describe('device classification', () => {
  // Type strings, plug-ins and labels of facts/homeseer-reality.md; command class numbers of the Z-Wave specification.
  it.each<[what: string, kind: DeviceKind, record: JsonObject]>([
    ['Z-Wave barrier operator', 'door', { device_type_string: 'Z-Wave Barrier Operator', ControlPairs: SWITCH }],
    ['Z-Wave door lock', 'lock', { device_type_string: 'Z-Wave Door Lock', ControlPairs: SWITCH }],
    ['door lock by command class', 'lock', zwave(0x62)],
    ['barrier by command class', 'door', zwave(0x66)],
    ['sound switch by command class', 'alarm', zwave(0x79)],
    ['Z-Wave alarm with controls', 'alarm', { device_type_string: 'Z-Wave Alarm', ControlPairs: SWITCH }],
    ['Z-Wave sound switch', 'alarm', { device_type_string: 'Z-Wave Sound Switch', ControlPairs: SWITCH }],
    ['partition of an alarm', 'alarm', { name: 'Part 1', ControlPairs: pairs('Arm Away', 'Arm Stay', 'Disarm') }],
    ['MyQ', 'door', { name: 'Bay 2', interface_name: 'MyQ', ControlPairs: SWITCH }],
    ['DSC', 'door', { name: 'Zone 3', interface_name: 'DSC', ControlPairs: SWITCH }],
    ['August', 'door', { name: 'Bay', interface_name: 'August', ControlPairs: SWITCH }],
    ['secured and unsecured', 'lock', { name: 'Side', ControlPairs: pairs('Secured', 'Unsecured') }],
    ['house mode by labels', 'house_mode', { name: 'Status', ControlPairs: pairs('Home', 'Away', 'Night') }],
    ['house mode by name', 'house_mode', { name: 'House Mode', ControlPairs: SWITCH }],
    ['garage relay', 'door', { name: 'Garage Relay', ControlPairs: SWITCH }],
    ['relay in the garage', 'door', { name: 'Relay 3', location: 'Garage', ControlPairs: SWITCH }],
    ['gate of the capture of 2022', 'door', { name: 'Side Gate - Button H', ControlPairs: SWITCH }],
    ['something that opens', 'door', { name: 'Bay 2', ControlPairs: pairs('Open', 'Close') }],
    ['water main', 'main_valve', { name: 'Main Water Valve', ControlPairs: SWITCH }],
    ['lock known by its text', 'lock', { name: 'Back', status: 'Locked', ControlPairs: SWITCH }],
  ])('%s is sensitive', (_, kind, record) => {
    const found = classOf(record)
    expect(found.kind).toBe(kind)
    expect(found.reasons).not.toEqual([])
    expect(found.evidence).not.toEqual([])
  })

  function zwave(subType: number): JsonObject {
    const type = { Device_API: 513, Device_Type: 0, Device_SubType: subType }
    return { name: 'Thing', interface_name: 'Z-Wave', device_type: type, ControlPairs: SWITCH }
  }

  it.each<[language: string, name: string, labels: readonly string[]]>([
    ['German', 'Haustür', ['Ein', 'Aus']],
    ['German', 'Nebeneingangstüre', ['Ein', 'Aus']],
    ['German', 'Schuppen', ['Aufsperren', 'Zusperren']],
    ['German', 'Anlage EG', ['Scharf', 'Unscharf']],
    ['French', 'Porte d’entrée', ['On', 'Off']],
    ['French', 'Entrée', ['Déverrouiller', 'Verrouiller']],
    ['French', 'Portail', ['Marche', 'Arrêt']],
    ['Dutch', 'Voordeur', ['Aan', 'Uit']],
    ['Dutch', 'Schuur', ['Ontgrendelen', 'Vergrendelen']],
    ['Spanish', 'Puerta principal', ['Encender', 'Apagar']],
    ['Spanish', 'Cerradura', ['1', '2']],
    ['Italian', 'Cancello', ['Accendi', 'Spegni']],
    ['Italian', 'Ingresso', ['Sblocca', 'Blocca']],
    ['Portuguese', 'Portão', ['Ligar', 'Desligar']],
    ['Portuguese', 'Entrada', ['Destrancar', 'Trancar']],
    ['Danish', 'Hoveddør', ['Tænd', 'Sluk']],
    ['Danish', 'Skur', ['Lås op', 'Lås']],
    ['Swedish', 'Ytterdörr', ['På', 'Av']],
    ['Swedish', 'Förråd', ['Lås upp', 'Lås']],
    ['Norwegian', 'Garasjeport', ['På', 'Av']],
    ['Norwegian', 'Bod', ['Åpne', 'Lukk']],
    ['Polish', 'Brama', ['Włącz', 'Wyłącz']],
    ['Polish', 'System', ['Uzbrój', 'Rozbrój']],
    ['Czech', 'Vchodové dveře', ['Zapnout', 'Vypnout']],
    ['Czech', 'Kůlna', ['Odemknout', 'Zamknout']],
    ['Finnish', 'Ulko-ovi', ['Päälle', 'Pois']],
    ['Finnish', 'Varasto', ['Avaa', 'Sulje']],
  ])('%s: %s is sensitive', (_, name, labels) => {
    expect(classOf({ name, ControlPairs: pairs(...labels) }).reasons).not.toEqual([])
  })

  // As openHAB translates its equipment tags FrontDoor, Gate, Lock, AlarmSystem and Siren
  // (openhab-core, org.openhab.core.semantics, tags_*.properties); singular, or plural where that is built otherwise.
  it.each([
    ['Catalan', 'Porta principal, Tanca, Pany, Sirenes'],
    ['Czech', 'Přední dveře, Brána, Zámek, Poplašný systém, Sirény'],
    ['Danish', 'Hoveddøre, Port, Lås, Alarmsystem, Sirener'],
    ['German', 'Vordertüren, Garagentor, Schlösser, Alarmanlage, Sirenen'],
    ['Greek', 'Εξώπορτα, Γκαραζόπορτες, Πύλη, Κλειδαριά, Σύστημα Συναγερμού, Σειρήνα'],
    ['Spanish', 'Puerta delantera, Cerraduras, Sistema de alarma, Sirena'],
    ['Finnish', 'Etuovet, Portit, Lukot, Hälytysjärjestelmä, Sireeni'],
    ['French', 'Porte de garage, Portail, Verrous, Système d’Alarme, Sirène'],
    ['Hebrew', 'דלת כניסה, שער, מנעול, מערכת אזעקה, צופר'],
    ['Hungarian', 'Bejárati ajtó, Kapu, Zár, Riasztórendszer, Kürt'],
    ['Italian', 'Porta Ingresso, Cancello, Serrature, Sistema Di Allarme, Sirena'],
    ['Japanese', '玄関のドア, 門, 鍵, 警報システム, サイレン'],
    ['Dutch', 'Voordeur, Poort, Sloten, Alarmsysteem, Sirenes'],
    ['Norwegian', 'Inngangsdører, Porter, Låser, Alarmsystem, Sirene'],
    ['Polish', 'Drzwiom wejściowym, Brama, Zamków, System alarmowy, Syrenę'],
    ['Portuguese', 'Porta da frente, Portão, Fechaduras, Sistema de alarme, Sirene'],
    ['Russian', 'Входная дверь, Ворота, Замок, Сигнализация, Сирена'],
    ['Slovenian', 'vhodna vrata, ključavnice, alarmni sistem, sirena'],
    ['Ukrainian', 'Вхідні двері, Ворота, Замок, Сигналізація, Сирена'],
    ['Chinese', '前门, 车库门, 锁, 报警系统, 警报'],
  ])('doors, gates, locks and alarms are sensitive in %s, whatever is on their buttons', (_, names) => {
    const unrecognised = names
      .split(', ')
      .filter((name) => classOf({ name, ControlPairs: SWITCH }).reasons.length === 0)
    expect(unrecognised).toEqual([])
  })

  it.each([
    ['Russian', 'Открыть, Закрыть'],
    ['Russian', 'Поставить на охрану, Снять с охраны'],
    ['Greek', 'Ξεκλείδωμα, Κλείδωμα'],
    ['Japanese', '解錠, 施錠'],
    ['Chinese', '布防, 撤防'],
    ['Norwegian', 'Tilkobl, Frakobl'],
    ['Italian', 'Inserisci, Disinserisci'],
    ['French', 'Ouverture, Fermeture'],
    ['Hungarian', 'Nyit, Zár'],
    ['English', 'Latch, Unlatch'],
    ['a language that no table has', 'Ireki, Itxi'],
    ['letters that no table has', 'เปิด, ปิด'],
  ])('buttons in %s make a device sensitive: %s', (_, labels) => {
    expect(classOf({ name: 'X1', ControlPairs: pairs(...labels.split(', ')) }).reasons).not.toEqual([])
  })

  it.each<[what: string, record: JsonObject]>([
    ['a gate that HomeSeer marks as a light, as it does any switch', { name: 'Gate', misc: 0x20_00 }],
    ['a compound', { name: 'Frontdoor' }],
    ['a window', { name: 'Dachfenster Bad' }],
    ['a shutter in the garage', { name: 'Shutter', location: 'Garage' }],
    ['a relay at the gate', { name: 'Relay 1', location: 'Gate' }],
    ['a plug-in that says what it is for', { name: 'Out', interface_name: 'SwitchBot Lock' }],
    ['a plug-in whose name is one word', { name: 'Out', interface_name: 'UltraM1G3' }],
    ['a type in another language', { name: 'Out', device_type_string: 'Portail' }],
    ['a text that says closed', { name: 'Out', status: 'Closed' }],
    ['a picture of a door', { name: 'Out', status_image: '/images/HomeSeer/contemporary/door-closed.png' }],
    ['letters that nobody here reads', { name: 'ประตู' }],
  ])('%s makes an unnamed device sensitive', (_, record) => {
    expect(classOf({ ControlPairs: SWITCH, ...record }).reasons).not.toEqual([])
  })

  // The same source: Lightbulb, Blinds, Fan, RadiatorControl, PowerOutlet and Doorbell; and what people have at home.
  it.each([
    ['Danish', 'Pære, Gardiner, Blæser, Radiatorstyring, Stikkontakt, Dørklokke'],
    [
      'German',
      'Glühbirne, Rollläden, Deckenventilator, Heizungssteuerung, Steckdose, Türklingeln, Gästezimmer, Türkis',
    ],
    ['Greek', 'Λάμπα, Περσίδα, Ανεμιστήρας, Καλοριφέρ, Πρίζα, Κουδούνι'],
    ['Finnish', 'Valaisin, Sälekaihdin, Kattotuuletin, Patteri, Pistorasia, Ovikello'],
    ['Italian', 'Luce, Tapparella, Ventilatore, Termosifone, Presa, Campanello'],
    ['Japanese', '照明, カーテン, 扇風機, コンセント'],
    ['Norwegian', 'Lys, Persienne, Vifte, Radiator, Stikkontakt, Kontor, Hjemmekontor'],
    ['Russian', 'Лампа, Жалюзи, Вентилятор, Розетка, Дверные звонки, Кофеварка'],
    ['Chinese', '灯, 窗帘, 风扇, 插座'],
    [
      'English',
      'Outdoor Lights, Indoor Fountain, Alarm Clock, Block Heater, Gateway, Projector, Motor, Monitor, Support',
    ],
  ])('lights, shades and other harmless devices are ordinary in %s', (_, names) => {
    const sensitive = names.split(', ').filter((name) => classOf({ name, ControlPairs: SWITCH }).reasons.length > 0)
    expect(sensitive).toEqual([])
  })

  it.each<[what: string, record: JsonObject]>([
    ['a lamp in Chinese', { name: '客厅灯', ControlPairs: pairs('开', '关') }],
    ['a curtain in Russian', { name: 'Шторы', ControlPairs: pairs('Открыть', 'Закрыть') }],
    ['a scene', { name: 'Scene', ControlPairs: pairs('Movie', 'Party') }],
    ['a player', { name: 'TV', ControlPairs: pairs('BBC One', 'Arte') }],
    ['speeds', { name: 'Air', ControlPairs: pairs('Low', 'Medium', 'High') }],
    ['a robot', { name: 'Vacuum', ControlPairs: pairs('Start', 'Dock') }],
  ])('%s is ordinary, whatever is on its buttons', (_, record) => {
    expect(classOf(record).reasons).toEqual([])
  })

  it.each<[name: string, kind: DeviceKind, record: JsonObject]>([
    ['Kitchen Lamp', 'light', { ControlPairs: SWITCH }],
    ['Küchenlampe', 'light', { ControlPairs: SWITCH }],
    ['Las luces', 'light', { ControlPairs: SWITCH }],
    ['Garage Light', 'light', { ControlPairs: SWITCH }],
    ['Bedroom', 'light', { ControlPairs: [...SWITCH, { Label: 'Dim (value)%', ControlUse: 3, ControlValue: 1 }] }],
    ['Bedroom Blind', 'blind', { ControlPairs: pairs('Open', 'Close') }],
    ['Rollladen Süd', 'blind', { ControlPairs: pairs('Auf', 'Zu') }],
    ['Volet salon', 'blind', { ControlPairs: pairs('Ouvrir', 'Fermer') }],
    ['Shade', 'blind', { device_type_string: 'Z-Wave Window Covering', ControlPairs: pairs('Open', 'Close') }],
    ['Garden Valve', 'valve', { ControlPairs: SWITCH }],
    ['Lawn', 'valve', { device_type_string: 'Sprinkler', ControlPairs: pairs('Open', 'Close') }],
    ['Heating', 'thermostat', { ControlPairs: [{ Label: '(value)', ControlUse: 12, ControlValue: 5 }] }],
    ['Office Heater', 'heater', { ControlPairs: SWITCH }],
    ['Boiler Relay', 'heater', { location: 'Cellar', ControlPairs: SWITCH }],
    ['Temperatur außen', 'sensor', {}],
    ['Radiator', 'heater', { ControlPairs: SWITCH }],
    ['Ventilator', 'fan', { ControlPairs: SWITCH }],
    ['Corridor', 'switch', { ControlPairs: SWITCH }],
    ['TV Plug', 'outlet', { ControlPairs: SWITCH }],
    ['Thermostat Mode', 'thermostat', { ControlPairs: [{ Label: 'Heat', ControlUse: 15, ControlValue: 1 }] }],
    ['Projektor', 'switch', { ControlPairs: SWITCH }],
    ['Clock', 'switch', { ControlPairs: SWITCH }],
  ])('%s is an ordinary %s', (name, kind, record) => {
    expect(classOf({ name, ...record })).toMatchObject({ kind, reasons: [] })
  })

  it('follows the owner’s correction, in both directions', () => {
    expect(classOf({ name: 'Garage Relay', ControlPairs: SWITCH }, 'light')).toMatchObject({
      kind: 'light',
      reasons: [],
    })
    expect(classOf({ name: 'Plug 7', ControlPairs: SWITCH }, 'door')).toMatchObject({ reasons: ['door-or-gate'] })
  })

  it('is not made sensitive by a sibling feature that only reports', () => {
    const status = decodeStatusReply({
      Devices: [
        { ref: 1, name: 'Dimmer', relationship: 2, associated_devices: [2, 3] },
        { ref: 2, name: 'Level', relationship: 4, associated_devices: [1], ControlPairs: SWITCH },
        { ref: 3, name: 'Overheat Alarm', relationship: 4, associated_devices: [1] },
      ],
    })
    const catalog = buildHomeseerDeviceCatalog(
      status.ok ? status.value.devices : [],
      new Map([1, 3].map((ref) => [ref, []])),
    )
    expect(catalog.devices.map(({ sensitivity }) => sensitivity)).toEqual([[], [], ['alarm']])
  })
})
