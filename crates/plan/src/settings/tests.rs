use super::*;

#[test]
fn every_flag_sets_its_setting_and_no_other() {
    for setting in SETTINGS.iter().filter(|setting| setting.flag.is_some()) {
        let text = match &setting.value_type {
            SettingType::Bool => "true",
            SettingType::Duration => "3s",
            SettingType::Rate => "7.5",
            SettingType::Choice(names) => names()[0],
            _ => "7",
        };
        let mut input = PlanInput::default();
        input.set_flag(setting, text).unwrap();
        let values: Vec<_> = input.given_settings().collect();
        assert_eq!(values.len(), 1, "{}", setting.path);
        let (changed, value, location) = values[0];
        assert_eq!(
            (changed.path, value.to_text().as_str()),
            (setting.path, text)
        );
        assert_eq!(location.to_string(), setting.flag_name());
    }
}

#[test]
fn long_and_short_names_of_flags_are_unique() {
    let flags = || SETTINGS.iter().filter_map(|setting| setting.flag.as_ref());
    for (index, flag) in flags().enumerate() {
        for later in flags().skip(index + 1) {
            assert_ne!(flag.long, later.long);
            assert!(
                flag.short.is_none() || flag.short != later.short,
                "-{:?}",
                flag.short
            );
        }
    }
}
